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
	"sync/atomic"
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
	killed  atomic.Bool   // HangUp has suspended bash, or is about to
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
	p := &hostProcess{table: s.table, id: newProcessID(), bash: b.Path, in: w, dead: make(chan struct{})}
	c := executor.Command{ID: p.id, Path: b.Path, Args: args, Env: environ(b.Env, s.options.Env), Dir: int(dir.Fd()), NewPrivs: b.NewPrivs, Supervise: true}
	p.bashPID, p.cancel, err = s.table.launch(c, [3]int{int(r.Fd()), -1, -1}, func(st executor.Status) {
		p.code = st.Code
		close(p.dead)
		w.Close()
	})
	if err != nil {
		return nil, err
	}
	p.subtree = proctree.NewSubtree(p.bashPID, p.id)
	p.writeLine(initLine) // if this fails, bash has ended, and the first command reports how
	return p, nil
}

// launch starts c with the descriptors fd, and returns its pid once it runs, and a function that ends it. A process that
// has ended since counts as started. At its end, or if it does not start, ended gets its status. Table.Close waits for
// that.
func (t *Table) launch(c executor.Command, fd [3]int, ended func(executor.Status)) (int, context.CancelCauseFunc, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	up := make(chan int, 1)
	var failed error // valid once up is closed
	streams := executor.Streams{FD: fd, Started: func(pid int) { up <- pid }}
	// Ends with the process, which the shell's end and Table.Close end.
	t.wg.Go(func() {
		defer cancel(nil)
		st, err := t.Runner.Run(ctx, c, streams)
		ended(st)
		failed = err
		close(up)
	})
	if pid, started := <-up; started {
		return pid, cancel, nil
	}
	return 0, cancel, fmt.Errorf("start shell: %w", failed)
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
	return &TerminatedError{Code: p.code}
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
	p.killed.Store(true)
	p.hangUp.Do(p.subtree.HangUp) // a second HangUp would suspend it again
	p.in.Close()
	p.cancel(endError{p.table.grace()})
}
