// SPDX-License-Identifier: Apache-2.0

package job

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/spelling"
)

const (
	// MaxRunning is how many jobs of a session may run.
	MaxRunning = 1024
	// MaxEnded is how many of those that have ended are remembered, with their output, if
	// Limits let them. The oldest go first.
	MaxEnded = 100
)

var (
	// ErrUnknown says that no job of the session has that id.
	ErrUnknown = errors.New("no such job")
	// ErrFull says that no more jobs may run.
	ErrFull = fmt.Errorf("%d jobs are running, and more may not", MaxRunning)
)

// Ambiguous says that the beginning of an id is that of several jobs.
type Ambiguous int

func (n Ambiguous) Error() string { return fmt.Sprintf("%d jobs begin with that", int(n)) }

// Table is the jobs of one session, and those that it has had.
type Table struct {
	dir  string
	turn chan struct{} // holds something while it is looked whether a job is ready

	mu   sync.Mutex // guards the fields below; taken after a job's
	jobs map[string]*Job
	past []*Job // those of them that have ended, oldest first
	kept int64  // bytes on disk of these
	live int64  // and of those that run

	output, disk int64 // Limits
}

// Open returns the table whose folder is dir, which it makes if need be. Jobs that ran when
// the session's watcher last ended did not outlive it.
func Open(dir string) (*Table, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the folder of jobs: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of jobs: %w", err)
	}
	t := &Table{dir: dir, turn: make(chan struct{}, 1), jobs: map[string]*Job{}, output: DefaultOutput, disk: DefaultDisk}
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		info, err := readInfo(at)
		if err != nil { // it was being made, or removed
			if err := os.RemoveAll(at); err != nil {
				return nil, fmt.Errorf("open the folder of jobs: %w", err)
			}
			continue
		}
		if info.Status == Running {
			info = abandoned(info, at)
			if err := writeInfo(at, info); err != nil {
				return nil, fmt.Errorf("open the folder of jobs: %w", err)
			}
		}
		j := t.job(info)
		close(j.started)
		close(j.done)
		t.jobs[info.ID] = j
		t.past = append(t.past, j)
		j.size = sizeOf(at)
		t.kept += j.size
	}
	slices.SortFunc(t.past, func(a, b *Job) int { return a.info.Ended.Compare(b.info.Ended) })
	t.forgetLocked()
	return t, nil
}

func (t *Table) job(info Info) *Job {
	return &Job{
		dir: filepath.Join(t.dir, info.ID), table: t, info: info,
		signals: make(chan executor.Delivery, 8), started: make(chan struct{}), done: make(chan struct{}),
	}
}

var idForm = spelling.Form{Of: "0-9a-f", Min: 16, Max: 16}

// Begin makes a job of the command args that is about to run in dir for the request id; with
// keep it is one that may outlive the session's container. The caller has it end, or discards
// it.
func (t *Table) Begin(id string, args []string, dir string, keep bool) (*Job, error) {
	if !idForm.Matches(id) {
		return nil, fmt.Errorf("begin job %q: not the id of a request", id)
	}
	short, _ := spelling.Clip(args, maxArgs)
	j := t.job(Info{ID: id, Status: Running, Args: short, Dir: dir, Started: time.Now(), Keep: keep})
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.jobs)-len(t.past) >= MaxRunning {
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

// Find returns the job whose id is ref, or begins with it and is the only one: else the error
// is ErrUnknown or Ambiguous.
func (t *Table) Find(ref string) (*Job, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j := t.jobs[ref]; j != nil {
		return j, nil
	}
	var hits []*Job
	for id, j := range t.jobs {
		if ref != "" && strings.HasPrefix(id, ref) {
			hits = append(hits, j)
		}
	}
	switch len(hits) {
	case 0:
		return nil, ErrUnknown
	case 1:
		return hits[0], nil
	}
	return nil, Ambiguous(len(hits))
}

// All returns the jobs, those that began first at the front.
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

// Kept returns the jobs that may outlive the session's container, those that have ended too.
func (t *Table) Kept() []*Job {
	return slices.DeleteFunc(t.All(), func(j *Job) bool { return !j.Info().Keep })
}

// ended notes that j, whose lock is held, has ended.
func (t *Table) ended(j *Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.past = append(t.past, j)
	t.live -= j.size
	t.kept += j.size
	t.forgetLocked()
}

// drop removes j, whose lock is held.
func (t *Table) drop(j *Job) error {
	t.mu.Lock()
	delete(t.jobs, j.info.ID)
	t.live -= j.size
	t.mu.Unlock()
	return os.RemoveAll(j.dir)
}
