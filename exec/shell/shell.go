// SPDX-License-Identifier: Apache-2.0

// Package shell keeps shells whose state survives from command to command: directory,
// variables, functions.
//
//	Run --control line--> bash (--norc) --sources--> N.cmd >> N.out 2>> N.err (N numbers the files)
//	    <--notification, or polling each 50 ms-- done/ID.exit (complete with its newline)
//
// For a shell in a container or a sandbox, this package runs twice: on the host, and in hostexec-shell there, which
// calls Serve.
//
//	Run --frames over docker exec, or pipes--> hostexec-shell: Run --> bash
//
// Its invariant: a shell is ready for the next command, whatever the last one was. A Command is also called a text,
// because its script is a text. A text is a quoted argument of eval, so that an open quote in it cannot swallow what
// follows. It gets no descriptor of this process. Its syntax errors do not end the shell. exit, exec, or a failure
// under set -e does: then the next text runs in a new bash, without the earlier state. A text writes to FIFOs. What
// these contain at its end is the rest of its output, so no child that it leaves can delay the answer. The package does
// not decide which commands may run.
package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// Runner runs a shell's process.
type Runner interface {
	Run(context.Context, executor.Command, executor.Streams) (executor.Status, error)
}

// Table holds the shells of one session. Set its fields before the first Create. It has many fields: seven are
// options, and the others are what all shells share.
type Table struct {
	Runner Runner
	Dir    string        // of its own, made when it is needed and removed by Close
	Grace  time.Duration // between TERM and KILL; 5 s when zero
	// ReplyTimeout limits each wait for an answer that takes no time: of a container, or of a shell, for example after
	// the children of a command have ended. Zero means 10 s.
	ReplyTimeout time.Duration
	Log          *slog.Logger
	// Program returns the path of the program whose main function calls Serve, for shells in a sandbox. Sandboxes
	// permit to execute it. Nil: there are none.
	Program func() (string, error)
	Limits  *limit.Session // counts the disk space of all shells; nil: the table counts it, up to the default limits

	graceOverride atomic.Pointer[time.Duration] // what SetGrace has set; nil before

	wg    sync.WaitGroup // of the shells' processes
	spare spareFiles
	spool spool
	own   limit.Session

	mu      sync.Mutex // guards the fields below
	shells  map[string]*Shell
	watcher *dirWatcher // nil before the first command
	closed  bool
}

// Options are the settings with which a shell is created.
type Options struct {
	Env []string  // NAME=value, added to the environment with which bash starts
	Dir string    // where it starts; where that is missing, in HOME
	In  Container // where the shell runs; nil is this host

	// ByContainer means that a container has created the shell and has chosen Env and Dir.
	ByContainer bool
	// DefaultDir means that Dir is the working directory of the container, and so the choice of the person who
	// started the container.
	DefaultDir bool
	// DirInArgs means that Dir is one of the words of Args: the caller may use it only if the policy allows it.
	DirInArgs bool
}

// maxShells is how many a session may have.
const maxShells = 256

// ErrExists means that the session has a shell with this name. ErrNoShell means that no shell has it, or that the shell
// was removed. ErrName means that no shell can have this name.
var (
	ErrExists  = errors.New("there is a shell of that name")
	ErrNoShell = errors.New("the shell is not ready")
	ErrName    = errors.New("the name of a shell has at most 64 letters, digits and . _ -, and begins with a letter or digit")
	errTooMany = fmt.Errorf("a session has at most %d shells", maxShells)
	errClosed  = errors.New("the session ends")
)

// UntrustedError means that a person on the host must not start a shell with settings that a container has
// chosen.
type UntrustedError struct{ Name string }

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("the container made shell %s with an environment or directory of its own, and it does not run yet: "+
		"have the container run something in it (hostexec session exec %s -- :), or make one of your own (docker hostexec shell create)", e.Name, e.Name)
}

// TerminatedError means that a shell has died while a command ran in it.
type TerminatedError struct {
	Code    int
	Removed bool // Remove has ended it
}

func (e *TerminatedError) Error() string {
	if e.Removed {
		return "the shell was removed"
	}
	return fmt.Sprintf("shell terminated unexpectedly (exit code: %d)", e.Code)
}

var nameForm = names.Form{First: "A-Za-z0-9", Chars: "A-Za-z0-9._-", Min: 1, Max: 64}

// CheckName returns ErrName if no shell can have the name.
func CheckName(name string) error {
	if !nameForm.Matches(name) {
		return ErrName
	}
	return nil
}

// Create makes a shell. Its process is started by the first command.
func (t *Table) Create(name string, o Options) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := CheckEnv(o.Env); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return errClosed
	case t.shells[name] != nil:
		return ErrExists
	case len(t.shells) >= maxShells:
		return errTooMany
	}
	if t.shells == nil {
		t.shells = map[string]*Shell{}
	}
	t.shells[name] = &Shell{table: t, name: name, options: o, since: time.Now(), turn: make(chan struct{}, 1)}
	return nil
}

// Find returns the shell called name, or ErrNoShell.
func (t *Table) Find(name string) (*Shell, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.shells[name]; s != nil {
		return s, nil
	}
	return nil, ErrNoShell
}

// Remove ends the shell called name and all that it runs, and reports whether there was one.
// It returns when nothing of it is left.
func (t *Table) Remove(name string) bool {
	t.mu.Lock()
	s := t.shells[name]
	delete(t.shells, name)
	t.mu.Unlock()
	if s != nil {
		s.end()
	}
	return s != nil
}

// Info describes a shell for List.
type Info struct {
	Name  string    `json:"name"`
	In    string    `json:"in,omitempty"` // the container to which PID and Dir belong
	PID   int       `json:"pid"`          // 0 before its first command, and after its death
	Dir   string    `json:"dir"`
	Busy  bool      `json:"busy"`
	Since time.Time `json:"since"`
}

// List returns the shells, by name.
func (t *Table) List() []Info {
	t.mu.Lock()
	all := make([]Info, 0, len(t.shells))
	for _, s := range t.shells {
		all = append(all, s.info())
	}
	t.mu.Unlock()
	slices.SortFunc(all, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// withRemoval returns err. If it is a TerminatedError because s was removed, the result says so.
func (t *Table) withRemoval(s *Shell, err error) error {
	var dead *TerminatedError
	if !errors.As(err, &dead) {
		return err
	}
	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.removed || closed {
		return err
	}
	return &TerminatedError{Code: dead.Code, Removed: true}
}

// Close ends every shell, and returns when their processes have ended. Processes that a dead bash has left on this host
// stay: executor.Host.Close ends them. A Run that has not returned ends with its shell.
func (t *Table) Close() error {
	t.mu.Lock()
	t.closed = true
	shells := t.shells
	t.shells = nil
	t.mu.Unlock()
	for _, s := range shells {
		s.kill()
	}
	for _, s := range shells {
		s.waitStarted()
	}
	t.wg.Wait()
	t.spool.close()
	if t.watcher == nil {
		return nil
	}
	t.watcher.close()
	t.spare.empty()
	return os.RemoveAll(t.Dir)
}

// ready creates the directories and the watch of them.
func (t *Table) ready() (*dirWatcher, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errClosed
	}
	if t.watcher == nil {
		os.RemoveAll(t.Dir) // files of an earlier process that was killed
		done := filepath.Join(t.Dir, "done")
		if err := os.MkdirAll(done, 0o700); err != nil {
			return nil, fmt.Errorf("make the directory of shells: %w", err)
		}
		t.watcher = newDirWatcher(done)
	}
	return t.watcher, nil
}

func (t *Table) limits() *limit.Session {
	if t.Limits == nil {
		return &t.own
	}
	return t.Limits
}

func (t *Table) replyTimeout() time.Duration { return cmp.Or(t.ReplyTimeout, 10*time.Second) }

// SetGrace replaces Grace from now on, for example before Close.
func (t *Table) SetGrace(grace time.Duration) { t.graceOverride.Store(&grace) }

func (t *Table) grace() time.Duration {
	if d := t.graceOverride.Load(); d != nil {
		return *d
	}
	return cmp.Or(t.Grace, proctree.DefaultGrace)
}

// graceFor returns the time between TERM and KILL for processes that end with ctx.
func (t *Table) graceFor(ctx context.Context) time.Duration {
	var graceful executor.Graceful
	if errors.As(context.Cause(ctx), &graceful) {
		return graceful.Grace()
	}
	return t.grace()
}

// endError is the cause that ends a shell's process.
type endError struct{ grace time.Duration }

func (endError) Error() string          { return "the shell ends" }
func (e endError) Grace() time.Duration { return e.grace }
