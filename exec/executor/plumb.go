// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package executor

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// plumbing is what joins a command's descriptors to its Streams.
type plumbing struct {
	host   *Host
	files  [3]int   // the command's 0, 1 and 2
	theirs []int    // those of them that are closed here once the command has them
	master *os.File // the terminal's, or nil
	feed   *feed    // or nil
	pumps  []*pump
}

// plumb makes the pipes and the terminal that s asks for. The terminal of a command that
// runs elsewhere is made there.
func (h *Host) plumb(s Streams, elsewhere bool) (pl *plumbing, err error) {
	pl = &plumbing{host: h, files: s.FD}
	defer func() {
		if err != nil {
			pl.abandon()
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
			pl.feed = newFeed(s, pl.master, true)
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

// join returns what becomes the command's descriptor i, which none was passed for.
func (pl *plumbing) join(i int, s Streams, slave int) (int, error) {
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

// adopt takes over the master of a terminal that was made elsewhere, if there is one.
func (pl *plumbing) adopt(master *os.File) {
	if master == nil {
		return
	}
	pl.master = master
	pl.pumps[0].src = master // plumb began with it
	if pl.feed != nil {
		pl.feed.dst = master
	}
}

func (pl *plumbing) pipeIn(s Streams) (int, error) {
	theirs, ours, err := pl.pipe(0)
	if err == nil {
		pl.feed = newFeed(s, ours, false)
		pl.feed.rest = spare(theirs)
	}
	return theirs, err
}

func (pl *plumbing) pipeOut(p *pump) (int, error) {
	theirs, ours, err := pl.pipe(1)
	if err == nil {
		p.src = ours
		pl.pumps = append(pl.pumps, p)
	}
	return theirs, err
}

// pipe makes a pipe of which end, 0 for reading and 1 for writing, is the command's and
// blocks, as a shell's would; the other one is polled.
func (pl *plumbing) pipe(end int) (theirs int, ours *os.File, err error) {
	var fds [2]int
	if err := makePipe(&fds); err != nil {
		return -1, nil, err
	}
	pl.theirs = append(pl.theirs, fds[end])
	if err := unix.SetNonblock(fds[1-end], true); err != nil {
		unix.Close(fds[1-end])
		return -1, nil, err
	}
	return fds[end], os.NewFile(uintptr(fds[1-end]), "pipe"), nil
}

// handOver closes what the command has now.
func (pl *plumbing) handOver() {
	for _, fd := range pl.theirs {
		unix.Close(fd)
	}
	pl.theirs = nil
}

// abandon closes everything: there is no command.
func (pl *plumbing) abandon() {
	pl.handOver()
	if pl.feed != nil {
		pl.feed.closeIn()
		pl.feed.dst.Close()
		if pl.feed.rest != nil {
			pl.feed.rest.Close()
		}
	}
	for _, p := range pl.pumps {
		p.src.Close()
	}
	if pl.master != nil {
		pl.master.Close()
	}
}

// start begins to move bytes.
func (pl *plumbing) start() {
	for _, p := range pl.pumps {
		p.start()
	}
	if pl.feed != nil {
		// ends when the command's stdin or In does; finish sees to both and waits.
		go pl.feed.run()
	}
}

// finish stops stdin and lets the pumps move only what the command wrote.
func (pl *plumbing) finish() {
	if pl.feed != nil {
		pl.feed.stop()
	}
	for _, p := range pl.pumps {
		p.finish()
	}
}

// drain returns when the pumps have moved that, or with the cause when ctx ends first.
func (pl *plumbing) drain(ctx context.Context) error {
	for _, p := range pl.pumps {
		select {
		case <-p.drained:
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

func (pl *plumbing) consumed() uint64 {
	if pl.feed == nil {
		return 0
	}
	return pl.feed.consumed
}
