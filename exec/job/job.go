// SPDX-License-Identifier: Apache-2.0

// Package job stores the output and the status of commands that continue without their caller.
//
//	executor --Streams--> DIR/ID/stdout, stderr     byte for byte
//	                            /combined           both, in the order of the writes
//	                            /status.json        replaced atomically
//
// The files hold the exact output of the command from its first byte. Bytes that are dropped at the
// end are counted. The package starts and ends no processes. The code that runs the command reports
// how it ended.
package job

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/broadcast"
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
)

// Status is the state of a job.
type Status string

const (
	Running   Status = "running"
	Completed Status = "completed" // it exited with 0
	Failed    Status = "failed"    // another exit code, a signal that was not sent by a kill, or its timeout
	Killed    Status = "killed"    // by a kill, the end of the session or watcher, or its caller before it was ready
	Error     Status = "error"     // ended by hostexec: too much output, too many processes, or an error of hostexec
)

// Info describes a job. It is a JSON object of the status file and of the API in docs/api.md, with a field for each
// key.
type Info struct {
	ID      string    `json:"id"` // of its request
	Status  Status    `json:"status"`
	Args    []string  `json:"args"` // cut if they are long
	Dir     string    `json:"dir"`  // on the host
	PID     int       `json:"pid"`  // on the host; another process may have this PID once the job has ended
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Code    int       `json:"exit_code"` // once it has ended; 128+n after signal n
	Signal  string    `json:"signal,omitempty"`
	Reason  string    `json:"reason,omitempty"` // if code and signal do not explain the end
	Keep    bool      `json:"keep,omitempty"`   // it may outlive its session's container
	Stdout  int64     `json:"stdout_bytes"`
	Stderr  int64     `json:"stderr_bytes"`
	Dropped int64     `json:"dropped_bytes,omitempty"` // bytes written by the command and not stored
}

// maxArgs is the maximum number of bytes of arguments in the status of a job.
const maxArgs = 4 << 10

// ErrEnded means that the job has ended.
var ErrEnded = errors.New("it has ended")

// Job is a command that continues without its caller.
type Job struct {
	dir     string
	table   *Table
	signals chan executor.Delivery
	started chan struct{}
	done    chan struct{}
	size    int64 // of its files; guarded by the table's lock

	mu            sync.Mutex // guards the fields below
	info          Info
	out           outputFiles
	sent          executor.Signal // the last signal sent by Signal
	outputChanged broadcast.Event
}

// Started returns a channel that is closed when the command runs.
func (j *Job) Started() <-chan struct{} { return j.started }

// Done returns a channel that is closed when the job has ended or was discarded.
func (j *Job) Done() <-chan struct{} { return j.done }

// Info returns the current description of j.
func (j *Job) Info() Info {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.info
}

// Streams returns the command's streams: stdin is /dev/null, and output goes to files.
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
	j.out.err = cmp.Or(j.out.err, writeInfo(j.dir, j.info))
	j.mu.Unlock()
	close(j.started)
}

// Signal sends a signal to the command. A few signals wait until they are delivered. Signal drops further ones.
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

// End records how the command ended. Call it once, after the last write.
func (j *Job) End(status Status, st executor.Status, reason string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if status == Failed && st.Signal != "" && st.Signal == j.sent {
		status = Killed
	}
	j.info.Status, j.info.Ended, j.info.Code, j.info.Signal, j.info.Reason = status, time.Now(), st.Code, st.Signal, reason
	if j.out.err != nil && reason == "" {
		j.info.Reason = "not all of its output could be kept"
	}
	err := errors.Join(j.out.err, j.out.close(), writeInfo(j.dir, j.info))
	j.outputChanged.Send()
	close(j.done)
	j.table.ended(j)
	return err
}

// Discard removes a job whose command never ran. The code of its caller and the reason are for those who wait for the
// job already.
func (j *Job) Discard(code int, reason string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.info.Status, j.info.Ended, j.info.Code, j.info.Reason = Error, time.Now(), code, reason
	j.out.close()
	j.outputChanged.Send()
	close(j.done)
	return j.table.drop(j)
}

// Copy copies the combined log to w. If follow is set, it continues until the job has ended.
func (j *Job) Copy(ctx context.Context, w io.Writer, follow bool) error {
	f, err := dir.OpenPlain(filepath.Join(j.dir, combinedFile))
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		more := j.outputChangedChan()
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

// outputChangedChan returns a channel that is closed after the next write or at the end of the job. It returns
// nil if the job has ended.
func (j *Job) outputChangedChan() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.info.Status != Running {
		return nil
	}
	return j.outputChanged.Next()
}
