// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// Shell is one shell. When its process dies the next command starts another.
type Shell struct {
	pool    *Pool
	name    string
	options Options
	since   time.Time
	turn    chan struct{} // holds one while a command has the shell to itself

	mu      sync.Mutex // guards the fields below
	life    *life      // nil before the first command
	removed bool
}

// Env returns what the shell was created with.
func (s *Shell) Env() []string { return s.options.Env }

// Birth is what a shell's process is started with.
type Birth struct {
	Path     string // of bash
	Env      []string
	NewPrivs bool
}

// life is a shell's process.
type life struct {
	id     string // its marker
	pid    int
	in     *os.File // it reads what to do from the other end
	last   int      // status of the last command; the turn's holder's
	cancel context.CancelFunc
	stem   proctree.Stem   // as it was born
	ended  chan struct{}   // closed when it has been reaped
	status executor.Status // right once ended is closed
}

// alive reports whether the process has not been reaped.
func (l *life) alive() bool {
	if l == nil {
		return false
	}
	select {
	case <-l.ended:
		return false
	default:
		return true
	}
}

// living returns the shell's process, a new one if need be. The turn is the caller's.
func (s *Shell) living(b Birth) (*life, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.removed {
		return nil, ErrNotReady
	}
	if s.life.alive() {
		return s.life, nil
	}
	l, err := s.start(b)
	if err == nil {
		s.life = l
	}
	return l, err
}

// hello makes an interactive shell quiet. It is interactive because then neither ${x:?} nor
// INT ends it, but takes it back to where it reads its next line. Bash minds no INT when its
// child dies of something else; a trap has its turn all the same, before the next command,
// and sends another one.
const hello = `\builtin trap '[[ ${__hostexec_runs-} ]] && \builtin kill -INT $$' RTMAX-1; ` +
	`\builtin shopt -s execfail; PS0= PS1= PS2=; \builtin unset -v PROMPT_COMMAND MAILCHECK TMOUT IGNOREEOF` + "\n"

// giveUp is RTMAX-1 (signal(7)).
const giveUp = syscall.Signal(63)

var args = []string{"bash", "--norc", "--noediting", "+o", "history", "+H", "+m", "-i"}

func (s *Shell) start(b Birth) (*life, error) {
	dir, err := s.dir(b.Env)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start shell: %w", err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	l := &life{id: strings.ToLower(rand.Text()), in: w, cancel: cancel, ended: make(chan struct{})}
	up, failed := make(chan struct{}), make(chan error, 1)
	c := executor.Command{ID: l.id, Path: b.Path, Args: args, Env: environ(b.Env, s.options.Env), Dir: int(dir.Fd()), NewPrivs: b.NewPrivs}
	streams := executor.Streams{FD: [3]int{int(r.Fd()), -1, -1}, Started: func(pid int) {
		l.pid = pid
		close(up)
	}}
	// ends when the shell does; end and Pool.Close see to that and wait.
	s.pool.wg.Go(func() {
		defer close(l.ended)
		defer w.Close()
		defer cancel()
		var err error
		l.status, err = s.pool.Runner.Run(ctx, c, streams)
		failed <- err
	})
	select {
	case <-up:
		l.stem = proctree.LookAt(l.pid, l.id)
	case err := <-failed:
		return nil, fmt.Errorf("start shell: %w", err)
	}
	return l, l.say(hello)
}

// dir opens the directory where the shell starts.
func (s *Shell) dir(env []string) (*os.File, error) {
	var errs []error
	for _, name := range []string{s.options.Dir, lookUp(env, "HOME"), "/"} {
		if name == "" {
			continue
		}
		if fi, err := os.Stat(name); err != nil || !fi.IsDir() {
			errs = append(errs, err)
			continue
		}
		f, err := os.Open(name)
		if err == nil {
			return f, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("start shell: %w", errors.Join(errs...))
}

// say has the shell read line.
func (l *life) say(line string) error {
	if _, err := l.in.WriteString(line); err != nil {
		return fmt.Errorf("tell the shell: %w", err)
	}
	return nil
}

// kill ends the shell and all that it runs. It does not wait.
func (s *Shell) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed = true
	if s.life.alive() {
		s.life.kill()
	}
}

// kill has the runner end the tree. The shell itself, like each that is interactive, does
// not mind TERM: it goes by HUP, or the end of what it reads.
func (l *life) kill() {
	l.cancel()
	l.in.Close()
	l.stem.Signal(syscall.SIGHUP)
}

// end is kill, and waits.
func (s *Shell) end() {
	s.kill()
	s.mu.Lock()
	l := s.life
	s.mu.Unlock()
	if l != nil {
		<-l.ended
	}
}

func (s *Shell) info() Info {
	i := Info{Name: s.name, Dir: s.At(), Busy: len(s.turn) > 0, Since: s.since}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.alive() {
		i.PID = s.life.pid
	}
	return i
}

// At returns the directory that the shell stands in, or where it will start.
func (s *Shell) At() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.alive() {
		if dir, err := os.Readlink("/proc/" + strconv.Itoa(s.life.pid) + "/cwd"); err == nil {
			return dir
		}
	}
	return s.options.Dir
}
