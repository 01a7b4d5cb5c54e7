// SPDX-License-Identifier: Apache-2.0

package job

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/names"
)

const (
	// MaxRunning is the maximum number of running jobs of a session.
	MaxRunning = 1024
	// maxEnded is the maximum number of ended jobs that are stored with their output. Limits may
	// allow fewer. The oldest are removed first.
	maxEnded = 100
)

var (
	// ErrUnknown means that no job of the session has this ID.
	ErrUnknown = errors.New("no such job")
	// ErrFull means that the maximum number of jobs is running.
	ErrFull = fmt.Errorf("%d jobs are running, which is the limit: end one with hostexec kill", MaxRunning)
)

// Ambiguous is the error for an ID prefix that matches several jobs. Its value is their number.
type Ambiguous int

func (n Ambiguous) Error() string { return fmt.Sprintf("%d jobs begin with that", int(n)) }

// Table holds the running and ended jobs of one session.
type Table struct {
	dir            string
	readySemaphore chan struct{} // full while a check runs whether a job is ready

	mu           sync.Mutex // guards the fields below; acquired after a job's lock
	jobs         map[string]*Job
	endedJobs    []*Job // the ended jobs, oldest first
	endedBytes   int64  // bytes on disk of ended jobs
	runningBytes int64  // bytes on disk of running jobs

	output, disk int64 // see Limits
}

// Open opens the table in directory dir, which it creates if necessary. Jobs with status running ended together with
// the previous watcher. A job whose status cannot be read counts as killed; its output stays. Open applies no limits:
// Adjust, and the output and the end of later jobs, do.
func Open(dir string) (*Table, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the directory of jobs: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory of jobs: %w", err)
	}
	t := &Table{dir: dir, readySemaphore: make(chan struct{}, 1), jobs: map[string]*Job{}, output: defaultOutput, disk: defaultDisk}
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		info, ok, err := reopen(at)
		if err != nil {
			return nil, fmt.Errorf("open the directory of jobs: %w", err)
		}
		if !ok {
			continue
		}
		j := t.job(info)
		close(j.started)
		close(j.done)
		t.jobs[info.ID] = j
		t.endedJobs = append(t.endedJobs, j)
		j.size = sizeOf(at)
		t.endedBytes += j.size
	}
	slices.SortFunc(t.endedJobs, func(a, b *Job) int { return a.info.Ended.Compare(b.info.Ended) })
	return t, nil
}

// reopen returns the status of the job in directory at, whose watcher has ended. If the watcher has not written the end
// of the job, reopen does. ok is false if there is no job.
func reopen(at string) (info Info, ok bool, err error) {
	info, err = readInfo(at)
	id := filepath.Base(at)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it was being created or removed
		return info, false, os.RemoveAll(at)
	case err != nil && (errors.Is(err, syscall.ENOTDIR) || !idForm.Matches(id)):
		return info, false, nil
	case err != nil:
		info = unfinishedInfo(Info{ID: id}, at)
		info.Started, info.Reason = info.Ended, "its status could not be read"
		return info, true, nil // it may be readable later
	case info.Status == Running:
		info = unfinishedInfo(info, at)
	default:
		return info, true, nil
	}
	return info, true, writeInfo(at, info)
}

func (t *Table) job(info Info) *Job {
	return &Job{
		dir: filepath.Join(t.dir, info.ID), table: t, info: info,
		signals: make(chan executor.Delivery, 8), started: make(chan struct{}), done: make(chan struct{}),
	}
}

var idForm = names.Form{Chars: "0-9a-f", Min: 16, Max: 16}

// Begin creates a job for the command args that is about to run in dir for request id. With keep,
// the job may outlive the session's container. The caller must call End or Discard.
func (t *Table) Begin(id string, args []string, dir string, keep bool) (*Job, error) {
	if !idForm.Matches(id) {
		return nil, fmt.Errorf("begin job %s: not the id of a request", names.Quoted(id))
	}
	short, _ := names.TruncateArgs(args, maxArgs)
	j := t.job(Info{ID: id, Status: Running, Args: short, Dir: dir, Started: time.Now(), Keep: keep})
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.jobs)-len(t.endedJobs) >= MaxRunning {
		return nil, ErrFull
	}
	if err := os.Mkdir(j.dir, 0o700); err != nil {
		return nil, fmt.Errorf("begin job %s: %w", id, err)
	}
	if err := j.out.open(j.dir); err != nil {
		return nil, errors.Join(fmt.Errorf("begin job %s: %w", id, err), os.RemoveAll(j.dir))
	}
	t.jobs[id] = j
	return j, nil
}

// Find returns the job with the ID ref, or the only job whose ID begins with ref. Otherwise the
// error is ErrUnknown or Ambiguous.
func (t *Table) Find(ref string) (*Job, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	hits := names.FindID(slices.Collect(maps.Values(t.jobs)), func(j *Job) string { return filepath.Base(j.dir) }, ref)
	switch len(hits) {
	case 0:
		return nil, ErrUnknown
	case 1:
		return hits[0], nil
	}
	return nil, Ambiguous(len(hits))
}

// All returns all jobs, in the order of their start.
func (t *Table) All() []*Job {
	t.mu.Lock()
	all := make([]*Job, 0, len(t.jobs))
	for _, j := range t.jobs {
		all = append(all, j)
	}
	t.mu.Unlock()
	began := make(map[*Job]time.Time, len(all))
	for _, j := range all {
		began[j] = j.Info().Started
	}
	slices.SortFunc(all, func(a, b *Job) int {
		return cmp.Or(began[a].Compare(began[b]), strings.Compare(a.dir, b.dir))
	})
	return all
}

// Kept returns the jobs that may outlive the session's container, including ended ones.
func (t *Table) Kept() []*Job {
	return slices.DeleteFunc(t.All(), func(j *Job) bool { return !j.Info().Keep })
}

// ended records that j has ended. The caller holds j's lock.
func (t *Table) ended(j *Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endedJobs = append(t.endedJobs, j)
	t.runningBytes -= j.size
	t.endedBytes += j.size
	t.removeOldestLocked()
}

// drop removes j. The caller holds j's lock.
func (t *Table) drop(j *Job) error {
	t.mu.Lock()
	delete(t.jobs, j.info.ID)
	t.runningBytes -= j.size
	t.mu.Unlock()
	return os.RemoveAll(j.dir)
}
