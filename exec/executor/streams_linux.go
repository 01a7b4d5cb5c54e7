// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// connections connects a command's descriptors to its Streams.
type connections struct {
	host       *Host
	files      [3]int       // the command's 0, 1 and 2
	commandFDs []int        // those of files that must be closed here once the command has them
	master     *os.File     // of the terminal, or nil
	stdin      *stdinCopier // or nil
	outputs    []*outputCopier
}

// connectStreams creates the pipes and the terminal that s requires. If elsewhere is set, the Backend creates
// the terminal.
func (h *Host) connectStreams(s Streams, elsewhere bool) (conns *connections, err error) {
	conns = &connections{host: h, files: s.FD}
	defer func() {
		if err != nil {
			conns.closeAll()
		}
	}()
	slave := -1
	if s.TTY != nil {
		if elsewhere {
			slave = Terminal
		} else if slave, err = conns.openTerminal(*s.TTY); err != nil {
			return conns, err
		}
		conns.outputs = append(conns.outputs, newOutputCopier(h, conns.master, s.Out, true))
		if s.In != nil {
			conns.stdin = newStdinCopier(s, conns.master, true)
		}
	}
	for i := range conns.files {
		if conns.files[i] >= 0 {
			continue
		}
		if conns.files[i], err = conns.join(i, s, slave); err != nil {
			return conns, err
		}
	}
	return conns, nil
}

// join returns the descriptor i of the command if the caller passed none.
func (conns *connections) join(i int, s Streams, slave int) (int, error) {
	switch {
	case i == 2 && s.SameOut:
		return conns.files[1], nil
	case slave != -1 && (i < 2 || s.Err == nil):
		return slave, nil
	case i == 0 && s.In != nil:
		return conns.pipeIn(s)
	case i == 1 && s.Out != nil:
		return conns.pipeOut(newOutputCopier(conns.host, nil, s.Out, false))
	case i == 2 && s.Err != nil:
		return conns.pipeOut(newOutputCopier(conns.host, nil, s.Err, false))
	}
	return conns.host.null, nil
}

// setMaster takes ownership of the master of a terminal that a Backend created, if any.
func (conns *connections) setMaster(master *os.File) {
	if master == nil {
		return
	}
	conns.master = master
	conns.outputs[0].src = master // connectStreams added the terminal's copier first
	if conns.stdin != nil {
		conns.stdin.dst = master
	}
}

func (conns *connections) pipeIn(s Streams) (int, error) {
	theirs, ours, err := conns.pipe(0)
	if err == nil {
		conns.stdin = newStdinCopier(s, ours, false)
	}
	return theirs, err
}

func (conns *connections) pipeOut(p *outputCopier) (int, error) {
	theirs, ours, err := conns.pipe(1)
	if err == nil {
		p.src = ours
		conns.outputs = append(conns.outputs, p)
	}
	return theirs, err
}

// pipe creates a pipe. Its end theirs (0: reading, 1: writing) is the command's and is blocking, as
// from a shell. The other end is non-blocking.
func (conns *connections) pipe(end int) (theirs int, ours *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return -1, nil, os.NewSyscallError("pipe2", err)
	}
	conns.commandFDs = append(conns.commandFDs, fds[end])
	if err := unix.SetNonblock(fds[1-end], true); err != nil {
		unix.Close(fds[1-end])
		return -1, nil, err
	}
	return fds[end], os.NewFile(uintptr(fds[1-end]), "pipe"), nil
}

// closeCommandFDs closes the descriptors that the command has now.
func (conns *connections) closeCommandFDs() {
	for _, fd := range conns.commandFDs {
		unix.Close(fd)
	}
	conns.commandFDs = nil
}

// closeAll closes all descriptors if no command was started.
func (conns *connections) closeAll() {
	conns.closeCommandFDs()
	if conns.stdin != nil {
		conns.stdin.closeIn()
		conns.stdin.dst.Close()
	}
	for _, p := range conns.outputs {
		p.src.Close()
	}
	if conns.master != nil {
		conns.master.Close()
	}
}

// start starts the copying.
func (conns *connections) start() {
	for _, p := range conns.outputs {
		p.start()
	}
	if conns.stdin != nil {
		// ends when the command's stdin or In ends; finish closes both and waits.
		go conns.stdin.run()
	}
}

// finish stops stdin, and makes the outputs copy only the data that was written until now.
func (conns *connections) finish() {
	if conns.stdin != nil {
		conns.stdin.stop()
	}
	for _, p := range conns.outputs {
		p.finish()
	}
}

// drain returns when the outputs have been copied, or when ctx ends, with its cause.
func (conns *connections) drain(ctx context.Context) error {
	for _, p := range conns.outputs {
		select {
		case <-p.drained:
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

func (conns *connections) consumed() uint64 {
	if conns.stdin == nil {
		return 0
	}
	return conns.stdin.consumed
}
