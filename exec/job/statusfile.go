// SPDX-License-Identifier: Apache-2.0

package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// writeInfo replaces the status of a job atomically: a reader sees the old or the new status.
func writeInfo(directory string, info Info) error {
	b, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	return dir.Replace(filepath.Join(directory, statusFile), append(b, '\n'), 0o600)
}

func readInfo(directory string) (info Info, err error) {
	file := filepath.Join(directory, statusFile)
	b, err := dir.ReadPlain(file)
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(b, &info); err != nil {
		return info, fmt.Errorf("read %s: %w", file, err)
	}
	if info.ID != filepath.Base(directory) {
		return info, errors.New("the status is of another job")
	}
	return info, nil
}

// unfinishedInfo returns the final status of a job whose watcher ended without writing one. The keeper
// has killed the job's processes. The modification times of the job's files give the end time.
func unfinishedInfo(info Info, dir string) Info {
	info.Status, info.Code, info.Signal = Killed, 128+9, "KILL"
	info.Reason = "its watcher was killed: what it wrote last may be missing"
	info.Ended = info.Started
	for _, name := range []string{stdoutFile, stderrFile} {
		fi, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		if fi.ModTime().After(info.Ended) {
			info.Ended = fi.ModTime()
		}
		if name == stdoutFile {
			info.Stdout = fi.Size()
		} else {
			info.Stderr = fi.Size()
		}
	}
	return info
}
