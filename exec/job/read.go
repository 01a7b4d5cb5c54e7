// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Read returns what is written down of the jobs whose folder is dir, and whose watcher is no
// more. A session that never had any has no such folder.
func Read(dir string) ([]Info, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("read the folder of jobs: %w", err)
	}
	var all []Info
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		info, err := readInfo(at)
		if err != nil { // it is being made or removed
			continue
		}
		if info.Status == Running {
			info = abandoned(info, at)
		}
		all = append(all, info)
	}
	return all, nil
}

// glance is how often it is looked whether a log has grown.
const glance = 100 * time.Millisecond

// Copy copies the combined log of a job to w; while more says so it goes on, until the job has
// ended. It is for who is not the job's watcher, and looks every so often.
func Copy(ctx context.Context, dir, id string, w io.Writer, more func() bool) (Info, error) {
	at := filepath.Join(dir, id)
	f, err := os.Open(filepath.Join(at, combinedFile))
	if err != nil {
		return Info{}, fmt.Errorf("read the log of job %s: %w", id, err)
	}
	defer f.Close()
	tick := time.NewTicker(glance)
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
