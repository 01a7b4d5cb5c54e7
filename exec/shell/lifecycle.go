// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

// Shell is one shell. If its process dies, the next command starts another one.
type Shell struct {
	table   *Table
	name    string
	options Options
	since   time.Time
	turn    chan struct{} // holds one while a command has the shell to itself

	starting sync.Mutex // held while a process starts

	mu           sync.Mutex // guards the fields below
	process      process    // nil before the first command
	oldProcesses []process  // earlier processes that had left something running when this one began
	removed      bool
}

// Options returns the settings with which the shell was created.
func (s *Shell) Options() Options { return s.options }

// StartConfig is the configuration of a shell's process.
type StartConfig struct {
	Path     string   // of bash; a container has its own
	Env      []string // on the host the complete environment; in a container the additions to it
	NewPrivs bool
	// Sandbox confines bash, and all that it starts; nil: not. A shell keeps the sandbox with which its bash was
	// started. The caller closes it.
	Sandbox *sandbox.Sandbox
	Dir     int  // descriptor of the directory where it starts on the host; 0 means the one of Options
	ByHost  bool // a person on the host runs it, who has not seen the settings that a container chose
}

// CheckUntrusted returns an UntrustedError if a person on the host would start bash with an environment or a directory
// that a container has chosen.
func (s *Shell) CheckUntrusted() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.options; o.ByContainer && !s.runningLocked() && (len(o.Env) > 0 || o.Dir != "" && !o.DefaultDir) {
		return &UntrustedError{s.name}
	}
	return nil
}

// runningLocked reports whether bash runs.
func (s *Shell) runningLocked() bool { return s.process != nil && s.process.pid() != 0 }

// ensureProcess returns the shell's process, a new one if need be. The caller holds the turn.
func (s *Shell) ensureProcess(ctx context.Context, b StartConfig) (process, error) {
	if b.ByHost {
		if err := s.CheckUntrusted(); err != nil {
			return nil, err
		}
	}
	if p, err := s.current(b); p != nil || err != nil {
		return p, err
	}
	s.starting.Lock() // until end can see the process that it has to wait for
	defer s.starting.Unlock()
	if p, err := s.current(b); p != nil || err != nil {
		return p, err
	}
	p, err := s.startProcess(ctx, b)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	old := s.processes()
	s.mu.Unlock()
	old = slices.DeleteFunc(old, func(p process) bool { return !p.hasLeftovers() })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process, s.oldProcesses = p, old
	if s.removed {
		p.kill()
		return nil, ErrNoShell
	}
	return p, nil
}

// current returns the process that takes commands, or nil if one has to be started as b says. A removed shell
// starts none, because nothing would end it.
func (s *Shell) current(b StartConfig) (process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.removed:
		return nil, ErrNoShell
	case s.process != nil && s.process.usable() && b.Sandbox != nil && !s.process.confined():
		return nil, errUnconfined
	case s.process != nil && s.process.usable():
		return s.process, nil
	}
	return nil, nil
}

func (s *Shell) startProcess(ctx context.Context, b StartConfig) (process, error) {
	if s.options.In != nil || b.Sandbox != nil {
		return s.startRemote(ctx, b)
	}
	return s.startHost(b)
}

// initLine makes an interactive shell quiet. It is interactive because then neither ${x:?} nor INT ends it: bash
// returns to reading its next line. Bash ignores an INT if its child dies of another cause. A trap still runs before
// the next command, and sends another INT. It does so only in a sourced file. Bash up to 5.3 crashes if a trap sends
// INT while bash waits for a line. The function getc_with_restart in input.c then keeps -1 as the length of its buffer.
const initLine = repair + `\builtin trap '[[ ${BASH_SOURCE-} ]] && \builtin kill -INT $$' RTMAX-1; ` +
	`\builtin shopt -s execfail; PS0= PS1= PS2=; \builtin unset -v PROMPT_COMMAND MAILCHECK TMOUT IGNOREEOF` + "\n"

// giveUpSignal makes bash give up a text: see the trap in initLine. It is RTMAX-1 (signal(7)).
const giveUpSignal = syscall.Signal(63)

var args = []string{"bash", "--norc", "--noediting", "+o", "history", "+H", "+m", "-i"}

// kill ends the shell and all its processes, except those that a dead bash has left on this host. It does not
// wait.
func (s *Shell) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed = true
	for _, p := range s.processes() {
		if !p.ended() {
			p.kill()
		}
	}
}

// processes returns the shell's processes that may not be gone. The caller holds mu.
func (s *Shell) processes() []process {
	if s.process == nil {
		return nil
	}
	return append(slices.Clone(s.oldProcesses), s.process)
}

// waitStarted returns when no process of the shell is about to start. After kill none will.
func (s *Shell) waitStarted() {
	s.starting.Lock()
	defer s.starting.Unlock()
}

// end is kill, and waits until no process is left.
func (s *Shell) end() {
	s.kill()
	s.starting.Lock()
	defer s.starting.Unlock()
	s.mu.Lock()
	all := s.processes()
	s.mu.Unlock()
	for _, p := range all {
		p.wait()
		p.removeLeftovers()
	}
}

// Directory returns Dir, after the name of the container and a colon if the shell is in a container.
func (i Info) Directory() string {
	if i.In == "" {
		return i.Dir
	}
	return i.In + ":" + i.Dir
}

// Directory returns the current directory of the shell, as Info.Directory shows it.
func (s *Shell) Directory() string { return Info{In: s.In(), Dir: s.At()}.Directory() }

func (s *Shell) info() Info {
	i := Info{Name: s.name, In: s.In(), Dir: s.At(), Busy: len(s.turn) > 0, Since: s.since}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		i.PID = s.process.pid()
	}
	return i
}

// In returns the name of the container in which the shell runs, or "" for this host.
func (s *Shell) In() string {
	if s.options.In == nil {
		return ""
	}
	return s.options.In.Name()
}

// At returns the current directory of the shell, or the one in which it will start.
func (s *Shell) At() string {
	if dir := s.workingDir(); dir != "" {
		return dir
	}
	if s.options.In != nil {
		return s.options.Dir
	}
	for _, name := range []string{s.options.Dir, os.Getenv("HOME")} {
		if fi, err := os.Stat(name); err == nil && fi.IsDir() {
			return name
		}
	}
	return "/"
}

// workingDir returns the current directory of the shell's process, or "".
func (s *Shell) workingDir() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runningLocked() {
		return s.process.cwd()
	}
	return ""
}
