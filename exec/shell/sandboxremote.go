// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

// errUnconfined means that the policy wants a sandbox for a shell that already runs without one.
var errUnconfined = errors.New("it runs outside the sandbox, because it was started before the policy asked for one: " +
	"remove it, and create it again")

// sandboxRemote is a sandbox on this host. The program and bash run in it, and share no file with this process. A
// text may thus change all files that bash uses, and this process reads none of them: it only gets frames, as from a
// container.
type sandboxRemote struct {
	shell  *Shell
	config StartConfig

	cancel  context.CancelCauseFunc
	program int           // the pid of the program
	ended   chan struct{} // closed when the program has ended
}

func (s *sandboxRemote) place() string { return "the sandbox" }
func (s *sandboxRemote) refused(why string) error {
	return fmt.Errorf("no shell in the sandbox: %s", why)
}

// pid returns the pid of the program, because a text can have it report any other.
func (s *sandboxRemote) pid(reported int) int {
	if reported == 0 { // there is no bash
		return 0
	}
	return s.program
}

// connect implements remote. A later command has another sandbox, or none, but this one stays that of the shell.
func (s *sandboxRemote) connect(_ context.Context, id string) (io.ReadWriteCloser, func(), error) {
	if s.shell.table.Program == nil {
		return nil, nil, s.refused("this session has no program for it")
	}
	path, err := s.shell.table.Program()
	if err != nil {
		return nil, nil, err
	}
	dir, err := s.shell.dir(s.config)
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	theirs, ours, err := pipes()
	if err != nil {
		return nil, nil, fmt.Errorf("start shell: %w", err)
	}
	defer theirs.Close()
	c := executor.Command{
		ID: id, Path: path, Args: []string{ProgramName, serveArg}, Env: environ(s.config.Env, nil), Dir: int(dir.Fd()),
		Sandbox: s.config.Sandbox,
	}
	s.ended = make(chan struct{})
	fd := [3]int{int(theirs.in.Fd()), int(theirs.out.Fd()), -1}
	s.program, s.cancel, err = s.shell.table.launch(c, fd, func(executor.Status) { close(s.ended) })
	if err != nil {
		ours.Close()
		return nil, nil, err
	}
	s.config.Sandbox = nil // the caller closes it
	return ours, func() {}, nil
}

// end does not rely on any report: a text can have written it.
func (s *sandboxRemote) end(_ string, over, _ bool, grace time.Duration) {
	if over {
		select {
		case <-s.ended:
		case <-time.After(grace):
		}
	}
	s.cancel(endError{grace})
	<-s.ended
}

// pipePair is one side of two pipes: what it reads from, and what it writes to.
type pipePair struct{ in, out *os.File }

// pipes returns both sides of a connection by pipes. A sandbox permits no socket by which a text could get others.
func pipes() (theirs, ours pipePair, err error) {
	if theirs.in, ours.out, err = os.Pipe(); err != nil {
		return theirs, ours, err
	}
	if ours.in, theirs.out, err = os.Pipe(); err != nil {
		theirs.in.Close()
		ours.out.Close()
	}
	return theirs, ours, err
}

func (p pipePair) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p pipePair) Write(b []byte) (int, error) { return p.out.Write(b) }
func (p pipePair) Close() error                { return errors.Join(p.in.Close(), p.out.Close()) }
