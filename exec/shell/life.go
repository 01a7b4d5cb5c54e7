// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Shell is one shell. When its process dies the next command starts another.
type Shell struct {
	pool    *Pool
	name    string
	options Options
	since   time.Time
	turn    chan struct{} // holds one while a command has the shell to itself

	starting sync.Mutex // held while a process starts

	mu           sync.Mutex      // guards the fields below
	process      *shellProcess   // nil before the first command
	oldProcesses []*shellProcess // those before it of which something was there when it began
	removed      bool
}

// Options returns what the shell was created with.
func (s *Shell) Options() Options { return s.options }

// StartConfig is what a shell's process is started with.
type StartConfig struct {
	Path     string   // of bash; a container has its own
	Env      []string // all there is, on the host; in a container, what is added
	NewPrivs bool
	Dir      int  // descriptor of the directory where it starts on the host; 0 is that of Options
	ByHost   bool // a person at the host has it run, who has not seen what a container gave the shell
}

// CheckUntrusted is a PlantedError if a shell's process is to start, for a person at the host, with
// what a container has chosen; else nil.
func (s *Shell) CheckUntrusted() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.options; o.Foreign && !s.process.alive() && (len(o.Env) > 0 || o.Dir != "" && !o.Usual) {
		return &UntrustedError{s.name}
	}
	return nil
}

// ensureProcess returns the shell's process, a new one if need be. The turn is the caller's.
func (s *Shell) ensureProcess(ctx context.Context, b StartConfig) (*shellProcess, error) {
	s.mu.Lock()
	l, removed := s.process, s.removed
	s.mu.Unlock()
	switch {
	case removed:
		return nil, ErrNotReady
	case l.alive():
		return l, nil
	}
	if b.ByHost {
		if err := s.CheckUntrusted(); err != nil {
			return nil, err
		}
	}
	s.starting.Lock() // until it is known whom end has to wait for
	defer s.starting.Unlock()
	s.mu.Lock()
	removed = s.removed
	s.mu.Unlock()
	if removed { // and nobody waits for what is born now
		return nil, ErrNotReady
	}
	l, err := s.start(ctx, b)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	past := s.processes()
	s.mu.Unlock()
	past = slices.DeleteFunc(past, func(l *shellProcess) bool { return !l.hasLeftovers() })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process, s.oldProcesses = l, past
	if s.removed {
		l.kill()
		return nil, ErrNotReady
	}
	return l, nil
}

func (s *Shell) start(ctx context.Context, b StartConfig) (*shellProcess, error) {
	if s.options.In != nil {
		return s.startInside(ctx, b)
	}
	return s.startHost(b)
}

// hello makes an interactive shell quiet. It is interactive because then neither ${x:?} nor
// INT ends it, but takes it back to where it reads its next line. Bash minds no INT when its
// child dies of something else; a trap has its turn all the same, before the next command,
// and sends another one.
const hello = repair + `\builtin trap '[[ ${__hostexec_runs-} ]] && \builtin kill -INT $$' RTMAX-1; ` +
	`\builtin shopt -s execfail; PS0= PS1= PS2=; \builtin unset -v PROMPT_COMMAND MAILCHECK TMOUT IGNOREEOF` + "\n"

// giveUp is RTMAX-1 (signal(7)).
const giveUp = syscall.Signal(63)

var args = []string{"bash", "--norc", "--noediting", "+o", "history", "+H", "+m", "-i"}

// kill ends the shell and all that it runs, but for what the dead have left on this host. It
// does not wait.
func (s *Shell) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed = true
	for _, l := range s.processes() {
		if !closed(l.left()) {
			l.kill()
		}
	}
}

// processes are the shell's processes of which there may be something. The caller holds mu.
func (s *Shell) processes() []*shellProcess {
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

// end is kill, and waits until nothing is left at all.
func (s *Shell) end() {
	s.kill()
	s.starting.Lock()
	defer s.starting.Unlock()
	s.mu.Lock()
	lives := s.processes()
	s.mu.Unlock()
	for _, l := range lives {
		<-l.left()
		l.remove()
	}
}

// Place is where the shell stands: a directory, of a container if it is in one.
func (i Info) Place() string {
	if i.In == "" {
		return i.Dir
	}
	return i.In + ":" + i.Dir
}

// Place is that of Info.
func (s *Shell) Place() string { return Info{In: s.In(), Dir: s.At()}.Place() }

func (s *Shell) info() Info {
	i := Info{Name: s.name, In: s.In(), Dir: s.At(), Busy: len(s.turn) > 0, Since: s.since}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process.alive() {
		i.PID = s.process.pid
	}
	return i
}

// In returns the name of the container that the shell lives in, "" for this host.
func (s *Shell) In() string {
	if s.options.In == nil {
		return ""
	}
	return s.options.In.Name()
}

// At returns the directory that the shell stands in, or where it will start.
func (s *Shell) At() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process.alive() {
		if dir := s.process.cwd(); dir != "" {
			return dir
		}
	}
	return s.options.Dir
}
