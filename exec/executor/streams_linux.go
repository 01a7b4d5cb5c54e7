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
	feed       *stdinCopier // or nil
	pumps      []*outputCopier
}

// connectStreams creates the pipes and the terminal that s requires. If elsewhere is set, the Backend creates
// the terminal.
func (h *Host) connectStreams(s Streams, elsewhere bool) (pl *connections, err error) {
	pl = &connections{host: h, files: s.FD}
	defer func() {
		if err != nil {
			pl.closeAll()
		}
	}()
	slave := -1
	if s.TTY != nil {
		if elsewhere {
			slave = Terminal
		} else if slave, err = pl.openTerminal(*s.TTY); err != nil {
			return pl, err
		}
		pl.pumps = append(pl.pumps, newPump(h, pl.master, s.Out, true))
		if s.In != nil {
			pl.feed = newStdinCopier(s, pl.master, true)
		}
	}
	for i := range pl.files {
		if pl.files[i] >= 0 {
			continue
		}
		if pl.files[i], err = pl.join(i, s, slave); err != nil {
			return pl, err
		}
	}
	return pl, nil
}

// join returns the descriptor i of the command if the caller passed none.
func (pl *connections) join(i int, s Streams, slave int) (int, error) {
	switch {
	case i == 2 && s.SameOut:
		return pl.files[1], nil
	case slave != -1 && (i < 2 || s.Err == nil):
		return slave, nil
	case i == 0 && s.In != nil:
		return pl.pipeIn(s)
	case i == 1 && s.Out != nil:
		return pl.pipeOut(newPump(pl.host, nil, s.Out, false))
	case i == 2 && s.Err != nil:
		return pl.pipeOut(newPump(pl.host, nil, s.Err, false))
	}
	return pl.host.null, nil
}

// setMaster takes ownership of the master of a terminal that a Room created, if any.
func (pl *connections) setMaster(master *os.File) {
	if master == nil {
		return
	}
	pl.master = master
	pl.pumps[0].src = master // plumb added the pump of the terminal first
	if pl.feed != nil {
		pl.feed.dst = master
	}
}

func (pl *connections) pipeIn(s Streams) (int, error) {
	theirs, ours, err := pl.pipe(0)
	if err == nil {
		pl.feed = newStdinCopier(s, ours, false)
	}
	return theirs, err
}

func (pl *connections) pipeOut(p *outputCopier) (int, error) {
	theirs, ours, err := pl.pipe(1)
	if err == nil {
		p.src = ours
		pl.pumps = append(pl.pumps, p)
	}
	return theirs, err
}

// pipe creates a pipe. Its end theirs (0: reading, 1: writing) is the command's and is blocking, as
// from a shell. The other end is non-blocking.
func (pl *connections) pipe(end int) (theirs int, ours *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return -1, nil, os.NewSyscallError("pipe2", err)
	}
	pl.commandFDs = append(pl.commandFDs, fds[end])
	if err := unix.SetNonblock(fds[1-end], true); err != nil {
		unix.Close(fds[1-end])
		return -1, nil, err
	}
	return fds[end], os.NewFile(uintptr(fds[1-end]), "pipe"), nil
}

// closeCommandFDs closes the descriptors that the command has now.
func (pl *connections) closeCommandFDs() {
	for _, fd := range pl.commandFDs {
		unix.Close(fd)
	}
	pl.commandFDs = nil
}

// closeAll closes all descriptors if no command was started.
func (pl *connections) closeAll() {
	pl.closeCommandFDs()
	if pl.feed != nil {
		pl.feed.closeIn()
		pl.feed.dst.Close()
	}
	for _, p := range pl.pumps {
		p.src.Close()
	}
	if pl.master != nil {
		pl.master.Close()
	}
}

// start starts the copying.
func (pl *connections) start() {
	for _, p := range pl.pumps {
		p.start()
	}
	if pl.feed != nil {
		// ends when the command's stdin or In ends; finish closes both and waits.
		go pl.feed.run()
	}
}

// finish stops stdin. The pumps then copy only the output that the command has written.
func (pl *connections) finish() {
	if pl.feed != nil {
		pl.feed.stop()
	}
	for _, p := range pl.pumps {
		p.finish()
	}
}

// drain returns when the pumps have copied this output, or when ctx ends, with its cause.
func (pl *connections) drain(ctx context.Context) error {
	for _, p := range pl.pumps {
		select {
		case <-p.drained:
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

func (pl *connections) consumed() uint64 {
	if pl.feed == nil {
		return 0
	}
	return pl.feed.consumed
}
