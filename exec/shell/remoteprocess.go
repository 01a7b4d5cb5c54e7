// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Container is a container for a shell.
type Container interface {
	// Name is the container's name, for messages.
	Name() string
	// Program opens the program for the container's architecture, whose main function calls Serve, and
	// returns its size.
	Program(ctx context.Context) (io.ReadCloser, int64, error)
	// Start starts args there, without a terminal: as the container's own user, or as root. Read reads
	// its stdout, Write writes to its stdin, and Close closes both. After Read has returned EOF, exit returns
	// its exit code.
	Start(ctx context.Context, args []string, root bool) (stdio io.ReadWriteCloser, exit func(context.Context) (int, error), err error)
}

// ContainerError means that a container cannot have a shell.
type ContainerError struct{ In, Why string }

func (e *ContainerError) Error() string {
	return fmt.Sprintf("no shell in container %s: %s", e.In, e.Why)
}

// remoteProcess is a shell's bash in a container or a sandbox: the connection to the program there that runs it. It
// lasts as long as the shell: after the end of bash the program starts another one. It has many fields because the
// commands of a shell share one connection, and so one lock and one state of bash.
type remoteProcess struct {
	shell *Shell
	table *Table
	at    remote
	id    string // the session of the program's processes
	stdio io.ReadWriteCloser

	requests     chan []byte   // frames to the program
	gone         chan struct{} // closed when the program is, or was given up
	removed      chan struct{} // closed when nothing of it is left
	over         bool          // the program has ended all it started; only read uses it until gone is closed
	unresponsive atomic.Bool   // the program was given up

	mu       sync.Mutex // guards the fields below
	commands map[uint32]*remoteCommand
	numbers  uint32
	bashPID  int
	dir      string
	ending   bool
}

// startTimeout is the time limit for the start of the program in a container.
const startTimeout = time.Minute

// startRemote starts the program in the shell's container, or in the sandbox of b.
func (s *Shell) startRemote(ctx context.Context, b StartConfig) (*remoteProcess, error) {
	at := s.remote(b)
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, at.refused("it does not answer"))
	defer cancel()
	p := &remoteProcess{
		shell: s, table: s.table, at: at, id: newProcessID(),
		requests: make(chan []byte, 64), gone: make(chan struct{}), removed: make(chan struct{}),
		commands: map[uint32]*remoteCommand{},
	}
	stdio, release, err := at.connect(ctx, p.id)
	if err != nil {
		return nil, err
	}
	defer release()
	p.stdio = stdio
	stop := context.AfterFunc(ctx, func() { p.stdio.Close() })
	in := bufio.NewReaderSize(p.stdio, maxOutput)
	err = p.setUp(in, b)
	if !stop() && err != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		p.stdio.Close()
		at.end(p.id, true, true, p.table.grace()) // in a container, the program ends itself at the end of its input
		return nil, err
	}
	// Both end when the program does, or when stdio is closed. kill sees to that, and Table.Close waits.
	s.table.wg.Go(func() { p.read(in) })
	s.table.wg.Go(p.write)
	return p, nil
}

// setUp sends the settings of the shell to the program, and waits until it is ready.
func (p *remoteProcess) setUp(in io.Reader, b StartConfig) error {
	o := p.shell.options
	setup := setupRequest{ID: p.id, Bash: p.bash(b), Env: byteStrings(o.Env), Dir: []byte(o.Dir), ByContainer: o.ByContainer, DefaultDir: o.DefaultDir, ReplyTimeout: p.table.replyTimeout().Milliseconds()}
	if _, err := p.stdio.Write(appendFrame(nil, frameSetup, 0, encoded(setup))); err != nil {
		return p.notStarted(err)
	}
	var f frame
	err := readFrame(in, &f, programLimit)
	switch {
	case err != nil:
		return p.notStarted(err)
	case f.kind == frameReady:
		return nil
	case f.kind == frameRefused:
		return p.at.refused(printable(f.payload))
	}
	return p.notStarted(errInvalid)
}

// bash returns the program of bash in the sandbox of b. A container has its own.
func (p *remoteProcess) bash(b StartConfig) []byte {
	if p.confined() {
		return []byte(b.Path)
	}
	return nil
}

func (p *remoteProcess) notStarted(err error) error {
	return p.at.refused("hostexec's program does not run there: " + err.Error())
}

// printable returns the beginning of a text of the program in ASCII, with newlines and tabs as they are.
func printable(text []byte) string { return string(names.ASCIIJSON(text[:min(len(text), 1024)])) }

// write sends the requests until the program is gone.
func (p *remoteProcess) write() {
	for {
		select {
		case b := <-p.requests:
			if _, err := p.stdio.Write(b); err != nil {
				p.stdio.Close()
				return
			}
		case <-p.gone:
			return
		}
	}
}

// send sends a frame to the program. A program that does not read is given up.
func (p *remoteProcess) send(kind frameKind, command uint32, payload []byte) error {
	late := time.NewTimer(p.table.replyTimeout())
	defer late.Stop()
	select {
	case p.requests <- appendFrame(nil, kind, command, payload):
		return nil
	case <-p.gone:
	case <-late.C:
		p.disconnect()
		<-p.gone
	}
	return errTerminated
}

// errTerminated is the error of commands whose program has ended or did not respond. It is the error of a bash
// that was killed.
var errTerminated = &TerminatedError{Code: 128 + 9}

// disconnect closes the connection to a program that does not answer. At the end of its input it ends all that
// it has started.
func (p *remoteProcess) disconnect() {
	p.unresponsive.Store(true)
	p.stdio.Close()
}

// read handles the program's frames until it exits, and then ends the processes that it has left.
func (p *remoteProcess) read(in io.Reader) {
	defer close(p.removed)
	err := p.readFrames(in)
	p.stdio.Close()
	p.mu.Lock()
	p.bashPID = 0
	p.mu.Unlock()
	close(p.gone)
	if errors.Is(err, errInvalid) {
		p.table.Log.Warn("the program of a shell sent invalid data", "place", p.at.place(), "error", err)
	}
	p.at.end(p.id, p.over, p.unresponsive.Load(), p.table.grace())
}

func (p *remoteProcess) readFrames(in io.Reader) error {
	var f frame
	for {
		if err := readFrame(in, &f, programLimit); err != nil {
			return err
		}
		var err error
		switch f.kind {
		case frameState:
			err = p.noteState(f.payload)
		case frameOver:
			p.over = true
			return nil
		case frameReady, frameRefused:
			err = errInvalid
		default:
			p.mu.Lock()
			c := p.commands[f.command]
			p.mu.Unlock()
			if c != nil { // else it was removed by forget
				err = c.handle(f.kind, f.payload)
			}
		}
		if err != nil {
			return err
		}
	}
}

// noteState stores bash's state from the program: its pid, or 0 without one, and its directory.
func (p *remoteProcess) noteState(payload []byte) error {
	if len(payload) < 8 {
		return errInvalid
	}
	pid := binary.BigEndian.Uint64(payload)
	if pid > math.MaxInt32 { // pid_t
		return errInvalid
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bashPID, p.dir = int(pid), string(payload[8:])
	return nil
}

// kill asks the program to end all its processes and itself. If the program does not respond, remote.end tries to end
// its processes.
func (p *remoteProcess) kill() {
	p.mu.Lock()
	first := !p.ending
	p.ending = true
	p.mu.Unlock()
	if !first {
		return
	}
	grace := p.table.grace()
	// Ends when the program is gone, or late.
	p.table.wg.Go(func() {
		p.send(frameEnd, 0, encodeNumber(grace.Milliseconds()))
		select {
		case <-p.gone:
		case <-time.After(grace + p.table.replyTimeout()/2):
			p.disconnect()
		}
	})
}

func (p *remoteProcess) usable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.ending && !closed(p.gone)
}

func (p *remoteProcess) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at.pid(p.bashPID)
}

func (p *remoteProcess) cwd() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dir
}

// confined implements process.
func (p *remoteProcess) confined() bool {
	_, is := p.at.(*sandboxRemote)
	return is
}

func (p *remoteProcess) ended() bool        { return closed(p.removed) }
func (p *remoteProcess) wait()              { <-p.removed }
func (p *remoteProcess) hasLeftovers() bool { return !closed(p.removed) }
func (p *remoteProcess) removeLeftovers()   {} // wait has waited for that
