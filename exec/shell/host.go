// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// onHost is the ground of a shell's process on this host.
type onHost struct {
	pool   *Pool
	life   *life
	in     *os.File // the shell reads what to do from the other end
	cancel context.CancelFunc
	born   proctree.Stem // the shell as it was then
}

// startHost starts a process on this host.
func (s *Shell) startHost(b Birth) (*life, error) {
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
	l := newLife()
	g := &onHost{pool: s.pool, life: l, in: w, cancel: cancel}
	l.ground = g
	up, failed := make(chan struct{}), make(chan error, 1)
	c := executor.Command{ID: l.id, Path: b.Path, Args: args, Env: environ(b.Env, s.options.Env), Dir: int(dir.Fd()), NewPrivs: b.NewPrivs}
	streams := executor.Streams{FD: [3]int{int(r.Fd()), -1, -1}, Started: func(pid int) {
		l.pid = pid
		close(up)
	}}
	// ends when the shell does; end and Pool.Close see to that and wait.
	s.pool.wg.Go(func() {
		defer w.Close()
		defer cancel()
		st, err := s.pool.Runner.Run(ctx, c, streams)
		l.end(st.Code)
		failed <- err
	})
	select {
	case <-up:
		g.born = proctree.LookAt(l.pid, l.id)
	case err := <-failed:
		return nil, fmt.Errorf("start shell: %w", err)
	}
	return l, g.say(hello)
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

func (g *onHost) say(line string) error {
	if _, err := g.in.WriteString(line); err != nil {
		return fmt.Errorf("tell the shell: %w", err)
	}
	return nil
}

func (g *onHost) look(string) stem              { return proctree.LookAt(g.life.pid, g.life.id) }
func (g *onHost) copied(pid int, _ string) stem { return proctree.LookAt(pid, g.life.id) }

func (g *onHost) cwd() string {
	dir, _ := os.Readlink("/proc/" + strconv.Itoa(g.life.pid) + "/cwd")
	return dir
}

func (g *onHost) left() <-chan struct{} { return g.life.ended }

// kill has the runner end the tree. The shell itself, like each that is interactive, does
// not mind TERM: it goes by HUP, or the end of what it reads.
func (g *onHost) kill() {
	g.cancel()
	g.in.Close()
	g.born.Signal(syscall.SIGHUP)
}
