// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// hostBackend is the ground of a shell's process on this host.
type hostBackend struct {
	pool    *Pool
	process *shellProcess
	in      *os.File // the shell reads what to do from the other end
	cancel  context.CancelCauseFunc
	subtree proctree.Subtree // the shell as it was then
	hangUp  sync.Once
}

// startHost starts a process on this host.
func (s *Shell) startHost(b StartConfig) (*shellProcess, error) {
	dir, err := s.dir(b)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start shell: %w", err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	l := newShellProcess()
	g := &hostBackend{pool: s.pool, process: l, in: w, cancel: cancel}
	l.backend = g
	up, failed := make(chan struct{}), make(chan error, 1)
	c := executor.Command{ID: l.id, Path: b.Path, Args: args, Env: environ(b.Env, s.options.Env), Dir: int(dir.Fd()), NewPrivs: b.NewPrivs, Adopt: true}
	streams := executor.Streams{FD: [3]int{int(r.Fd()), -1, -1}, Started: func(pid int) {
		l.pid = pid
		close(up)
	}}
	// ends when the shell does; end and Pool.Close see to that and wait.
	s.pool.wg.Go(func() {
		defer w.Close()
		defer cancel(nil)
		st, err := s.pool.Runner.Run(ctx, c, streams)
		l.end(st.Code)
		failed <- err
	})
	select {
	case <-up:
		g.subtree = proctree.LookAt(l.pid, l.id)
	case err := <-failed:
		return nil, fmt.Errorf("start shell: %w", err)
	}
	return l, g.writeLine(hello)
}

// dir holds the directory where the shell starts: that of b, which was decided, or else what
// its options name. The caller closes it, which leaves b's open.
func (s *Shell) dir(b StartConfig) (*os.File, error) {
	var errs []error
	if b.Dir != 0 {
		f, err := openDirAt(b.Dir, ".")
		if err == nil {
			return f, nil
		}
		errs = append(errs, err)
	}
	for _, name := range []string{s.options.Dir, osenv.Get(b.Env, "HOME"), "/"} {
		if name == "" || b.Dir != 0 && name == s.options.Dir {
			continue
		}
		how := openDir
		if name == s.options.Dir && b.ByHost && s.options.Foreign {
			how = openDirNoLinks // the container may have put a link there since
		}
		f, err := how(name)
		if err == nil {
			return f, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("start shell: %w", errors.Join(errs...))
}

// writeLine writes less than the pipe holds, but for a shell that hears nothing any more: that one is
// given up.
func (g *hostBackend) writeLine(line string) error {
	g.in.SetWriteDeadline(time.Now().Add(g.pool.replyTimeout()))
	if _, err := g.in.WriteString(line); err != nil {
		g.kill()
		return fmt.Errorf("tell the shell: %w", err)
	}
	return nil
}

func (g *hostBackend) look(string) subtree              { return proctree.LookAt(g.process.pid, g.process.id) }
func (g *hostBackend) copied(pid int, _ string) subtree { return proctree.LookAt(pid, g.process.id) }

func (g *hostBackend) cwd() string {
	dir, _ := os.Readlink("/proc/" + strconv.Itoa(g.process.pid) + "/cwd")
	return dir
}

func (g *hostBackend) left() <-chan struct{} { return g.process.ended }
func (g *hostBackend) hasLeftovers() bool    { return proctree.HasLeftovers(g.process.id) }

func (g *hostBackend) remove() {
	if _, err := proctree.EndLeft(g.process.id, g.pool.grace()); err != nil {
		g.pool.Log.Error("end what a shell has left", "error", err)
	}
}

// kill has the runner end the tree. The shell itself, like each that is interactive, does
// not mind TERM: it goes by HUP, or the end of what it reads. It would go on with its text when
// a child of it has ended.
func (g *hostBackend) kill() {
	g.hangUp.Do(g.subtree.HangUp) // a second HangUp would suspend it once more
	g.in.Close()
	g.cancel(endError{g.pool.grace()})
}
