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
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// hostProcess is a shell's bash on this host.
type hostProcess struct {
	table   *Table
	id      string // its marker
	bash    string // its program
	bashPID int
	last    int // status of the last command; guarded by the turn

	in      *os.File // bash reads its lines from the other end
	cancel  context.CancelCauseFunc
	subtree proctree.Subtree // bash, as it was when it started
	hangUp  sync.Once
	dead    chan struct{} // closed when bash has ended
	code    int           // how it has ended; valid once dead is closed
}

// startHost starts bash on this host.
func (s *Shell) startHost(b StartConfig) (*hostProcess, error) {
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
	p := &hostProcess{table: s.table, id: newProcessID(), bash: b.Path, in: w, cancel: cancel, dead: make(chan struct{})}
	up, failed := make(chan struct{}), make(chan error, 1)
	c := executor.Command{ID: p.id, Path: b.Path, Args: args, Env: environ(b.Env, s.options.Env), Dir: int(dir.Fd()), NewPrivs: b.NewPrivs, Supervise: true}
	streams := executor.Streams{FD: [3]int{int(r.Fd()), -1, -1}, Started: func(pid int) {
		p.bashPID = pid
		close(up)
	}}
	// Ends when bash does. Shell.end and Table.Close end bash and wait.
	s.table.wg.Go(func() {
		defer w.Close()
		defer cancel(nil)
		st, err := s.table.Runner.Run(ctx, c, streams)
		p.code = st.Code
		close(p.dead)
		failed <- err
	})
	select {
	case <-up:
		p.subtree = proctree.NewSubtree(p.bashPID, p.id)
	case err := <-failed:
		return nil, fmt.Errorf("start shell: %w", err)
	}
	return p, p.writeLine(initLine)
}

// newProcessID returns the marker of a new shell process.
func newProcessID() string { return strings.ToLower(rand.Text()) }

// dir opens the directory where the shell starts: the one of b, which the policy has checked, or else the one
// of the shell's options. The caller closes it; b's own directory stays open.
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
		if name == s.options.Dir && b.ByHost && s.options.ByContainer {
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

// writeLine sends a line to bash. A line fits into the pipe, unless bash has stopped reading. Then
// the shell is killed.
func (p *hostProcess) writeLine(line string) error {
	p.in.SetWriteDeadline(time.Now().Add(p.table.replyTimeout()))
	if _, err := p.in.WriteString(line); err != nil {
		p.kill()
		return fmt.Errorf("send a line to the shell: %w", err)
	}
	return nil
}

// waitDeath waits for the end of a bash that reads no more lines, and returns its result.
func (p *hostProcess) waitDeath() error {
	<-p.dead
	return &TerminatedError{p.code}
}

func (p *hostProcess) confined() bool { return false }

func (p *hostProcess) usable() bool { return !closed(p.dead) }

func (p *hostProcess) pid() int {
	if closed(p.dead) {
		return 0
	}
	return p.bashPID
}

func (p *hostProcess) cwd() string {
	dir, _ := os.Readlink("/proc/" + strconv.Itoa(p.bashPID) + "/cwd")
	return dir
}

func (p *hostProcess) ended() bool        { return closed(p.dead) }
func (p *hostProcess) wait()              { <-p.dead }
func (p *hostProcess) hasLeftovers() bool { return proctree.HasLeftovers(p.id) }

func (p *hostProcess) removeLeftovers() {
	if _, err := proctree.EndLeftovers(p.id, p.table.grace()); err != nil {
		p.table.Log.Error("end what a shell has left", "error", err)
	}
}

// kill ends the tree through the runner. An interactive bash ignores TERM; it ends on HUP, or at
// the end of its input. Without the HUP it would go on with its text after the end of a child.
func (p *hostProcess) kill() {
	p.hangUp.Do(p.subtree.HangUp) // a second HangUp would suspend it again
	p.in.Close()
	p.cancel(endError{p.table.grace()})
}
