// SPDX-License-Identifier: Apache-2.0

// Package job keeps what becomes of commands that go on without their caller.
//
//	executor --Streams--> DIR/ID/stdout, stderr     byte for byte
//	                            /combined           both, in the order in which they came
//	                            /status.json        replaced in one step
//
// Its one law: what is on disk is what the command wrote, from its first byte on, and
// whatever is left out at the end is counted. It starts nothing, ends nothing and decides
// nothing: who runs the command says how it ended.
package job

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

// Status is how far a job has come, in one word.
type Status string

const (
	Running   Status = "running"
	Completed Status = "completed" // it exited with 0
	Failed    Status = "failed"    // with another code, by a signal of its own, or of its timeout
	Killed    Status = "killed"    // by hostexec kill, a person, or the end of the session
	Error     Status = "error"     // by hostexec: its output was cut, or it could not be followed
)

// Info is what there is to know of a job.
type Info struct {
	ID      string    `json:"id"` // of its request
	Status  Status    `json:"status"`
	Args    []string  `json:"args"` // the beginning of them, if they are long
	Dir     string    `json:"dir"`  // on the host
	PID     int       `json:"pid"`  // on the host; it may be another's once the job has ended
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Code    int       `json:"exit_code"` // when it has ended; 128+n when a signal ended it
	Signal  string    `json:"signal,omitempty"`
	Reason  string    `json:"reason,omitempty"` // where code and signal do not say it all
	Keep    bool      `json:"keep,omitempty"`   // it may outlive its session's container
	Stdout  int64     `json:"stdout_bytes"`
	Stderr  int64     `json:"stderr_bytes"`
	Dropped int64     `json:"dropped_bytes,omitempty"` // written, and not kept
}

// maxArgs is how many bytes of its arguments are remembered of a job.
const maxArgs = 4 << 10

// ErrEnded says that a job has ended.
var ErrEnded = errors.New("it has ended")

// Job is one command that goes on without its caller.
type Job struct {
	dir     string
	table   *Table
	signals chan executor.Delivery
	started chan struct{}
	done    chan struct{}
	size    int64 // of its files; the table's lock guards it

	mu    sync.Mutex // guards the fields below
	info  Info
	out   output
	sent  executor.Signal // the last that Signal sent
	grown chan struct{}   // closed when more was written; nil while nobody waits for that
}

// Started is closed when the command runs.
func (j *Job) Started() <-chan struct{} { return j.started }

// Done is closed when the job has ended, or was discarded.
func (j *Job) Done() <-chan struct{} { return j.done }

// Info returns what there is to know of j now.
func (j *Job) Info() Info {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.info
}

// Streams are what the command's descriptors are joined to: /dev/null, and files.
func (j *Job) Streams() executor.Streams {
	return executor.Streams{
		FD:      [3]int{-1, -1, -1},
		Out:     writer{j, Stdout},
		Err:     writer{j, Stderr},
		Signals: j.signals,
		Started: j.start,
	}
}

func (j *Job) start(pid int) {
	j.mu.Lock()
	j.info.PID, j.info.Started = pid, time.Now()
	err := writeInfo(j.dir, j.info)
	j.out.failed(err)
	j.mu.Unlock()
	close(j.started)
}

// Signal sends a signal to the command. Like the kernel it does not count
// them: one that comes faster than the last is delivered may be dropped.
func (j *Job) Signal(name executor.Signal) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.info.Status != Running {
		return ErrEnded
	}
	j.sent = name
	select {
	case j.signals <- executor.Delivery{Signal: name}:
	default:
	}
	return nil
}

// End notes how the command ended. It is called once, when nothing more will be written.
func (j *Job) End(how Status, st executor.Status, reason string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if how == Failed && st.Signal != "" && st.Signal == j.sent {
		how = Killed
	}
	j.info.Status, j.info.Ended, j.info.Code, j.info.Signal, j.info.Reason = how, time.Now(), st.Code, st.Signal, reason
	if j.out.err != nil && reason == "" {
		j.info.Reason = "not all of its output could be kept"
	}
	err := errors.Join(j.out.err, j.out.close(), writeInfo(j.dir, j.info))
	j.wakeLocked()
	close(j.done)
	j.table.ended(j)
	return err
}

// Discard removes what there is of a job that never ran.
func (j *Job) Discard() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.info.Status = Error
	j.out.close()
	j.wakeLocked()
	close(j.done)
	return j.table.drop(j)
}

// Copy copies the combined log to w; with follow it goes on until the job has ended.
func (j *Job) Copy(ctx context.Context, w io.Writer, follow bool) error {
	f, err := os.Open(filepath.Join(j.dir, combinedFile))
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		more := j.more()
		if _, err := io.Copy(w, f); err != nil {
			return err
		}
		if !follow || more == nil {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// more returns a channel that is closed when more was written or the job has ended; nil when
// it has.
func (j *Job) more() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.info.Status != Running {
		return nil
	}
	if j.grown == nil {
		j.grown = make(chan struct{})
	}
	return j.grown
}

func (j *Job) wakeLocked() {
	if j.grown != nil {
		close(j.grown)
		j.grown = nil
	}
}
