// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// Read returns the status of all jobs in directory dir after their watcher has ended. If the
// directory does not exist, the session had no jobs.
func Read(dir string) ([]Info, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("read the directory of jobs: %w", err)
	}
	var all []Info
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		info, err := readInfo(at)
		if err != nil { // the job is being created or removed
			continue
		}
		if info.Status == Running {
			info = unfinishedInfo(info, at)
		}
		all = append(all, info)
	}
	return all, nil
}

// pollInterval is the poll interval for new output in a log.
const pollInterval = 100 * time.Millisecond

// Copy copies the combined log of job id in directory jobs to w. While more returns true, it continues until the job
// has ended. It polls the files, so it also works outside of the job's watcher.
func Copy(ctx context.Context, jobs, id string, w io.Writer, more func() bool) (Info, error) {
	at := filepath.Join(jobs, id)
	f, err := dir.OpenPlain(filepath.Join(at, combinedFile))
	if err != nil {
		return Info{}, fmt.Errorf("read the log of job %s: %w", id, err)
	}
	defer f.Close()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		info, err := readInfo(at)
		if err != nil {
			return info, fmt.Errorf("read the status of job %s: %w", id, err)
		}
		if _, err := io.Copy(w, f); err != nil || info.Status != Running || !more() {
			return info, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return info, nil
		}
	}
}
