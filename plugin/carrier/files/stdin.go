// SPDX-License-Identifier: Apache-2.0

package files

import (
	"io"
	"os"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// input is the caller's stdin: a file that it writes to while it is read.
type input struct {
	f      *os.File
	whole  bool // it was all there before
	credit int  // how much the host takes
	ended  bool
	buf    [16 << 10]byte

	read    int64 // bytes that were passed on
	held    limit.Reservation
	backlog dir.Backlog
}

// look counts what waits of a stream: no caller can be told to wait. One that writes more
// than its session may have on the disk is given up.
func (in *input) look() error {
	if in.whole {
		return nil // it was the caller's own before
	}
	n, err := in.backlog.Waits(in.f, in.read)
	if err != nil {
		return nil
	}
	if err = in.held.Set(n); err != nil {
		in.f.Truncate(0)
	}
	return err
}

func (in *input) close() {
	in.f.Close()
	in.held.Set(0)
}

// openInput makes the file into which the caller puts its stdin, or takes the one that it
// has filled before. That it is there tells the caller that it is wanted.
func (c *call) openInput() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stdin != nil || c.ask.exec.FDs[0] == wire.FDNull {
		return nil
	}
	in := &input{held: limit.Reservation{From: c.limits, Kind: limit.Spool}, credit: wire.Window, whole: c.ask.exec.FDs[0] == wire.FDFile}
	var err error
	if in.whole {
		in.f, _, err = c.p.Dir.Open(c.ask.id + ".stdin")
	} else {
		in.f, err = c.p.Dir.Create(c.ask.id+".stdin", c.ask.owner)
	}
	if err != nil {
		return err
	}
	c.stdin = in
	c.wakeup.Notify()
	c.lookNow()
	return nil
}

// credit lets n bytes more of stdin through; n < 0 is that no more are wanted.
func (c *call) credit(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stdin == nil:
	case n < 0:
		c.stdin.ended = true
	default:
		c.stdin.credit += n
		c.lookNow()
	}
}

// sendStdin sends what has come of stdin. It reports whether more can be expected soon.
func (c *call) sendStdin() bool {
	for {
		c.mu.Lock()
		in := c.stdin
		if in == nil || in.ended || in.credit == 0 {
			c.mu.Unlock()
			return false
		}
		max := min(in.credit, len(in.buf))
		c.mu.Unlock()
		// Before what is read: what was written before the end is read after it.
		_, err := c.p.Dir.Stat(c.ask.id + ".eof")
		last := in.whole || err == nil
		n, err := in.f.Read(in.buf[:max])
		if n > 0 {
			in.read += int64(n)
			c.mu.Lock()
			in.credit -= n
			c.mu.Unlock()
			if c.frames.Send(wire.KindStdin, in.buf[:n]) != nil {
				return false
			}
			continue
		}
		if last || err != nil && err != io.EOF {
			c.mu.Lock()
			in.ended = true
			c.mu.Unlock()
			c.frames.Send(wire.KindStdinEOF, nil)
			return false
		}
		return true
	}
}
