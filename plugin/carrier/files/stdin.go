// SPDX-License-Identifier: Apache-2.0

package files

import (
	"io"
	"os"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// input is the caller's stdin: a file that it writes while this process reads it.
type input struct {
	f        *os.File
	complete bool // the file was complete before the call began
	credit   int  // number of bytes that the host accepts
	ended    bool
	buf      [16 << 10]byte

	read    int64 // bytes that were sent
	held    limit.Reservation
	backlog dir.Backlog
}

// checkBacklog counts the bytes on the disk that were not read yet. It returns the exceeded limit if the caller, which
// cannot be made to wait, has written more than its session may store.
func (in *input) checkBacklog() error {
	if in.complete {
		return nil // the caller wrote it before the call
	}
	n, err := in.backlog.DiskBytes(in.f, in.read)
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

// openInput creates the file for the caller's stdin, or opens the file that the caller wrote before. The file's
// existence tells the caller that the command reads stdin.
func (c *call) openInput() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stdin != nil || c.req.exec.FDs[0] == wire.FDNull {
		return nil
	}
	in := &input{held: limit.Reservation{From: c.limits}, credit: wire.Window, complete: c.req.exec.FDs[0] == wire.FDFile}
	var err error
	if in.complete {
		in.f, _, err = c.dir.Dir.Open(c.req.id + ".stdin")
	} else {
		in.f, err = c.dir.Dir.Create(c.req.id+".stdin", c.req.owner)
	}
	if err != nil {
		return err
	}
	c.stdin = in
	c.wakeup.Notify()
	c.checkNow()
	return nil
}

// credit allows n more bytes of stdin. A negative n means that the command reads no more.
func (c *call) credit(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stdin == nil:
	case n < 0:
		c.stdin.ended = true
	default:
		c.stdin.credit += n
		c.checkNow()
	}
}

// sendStdin sends new bytes of stdin. It reports whether more can be expected soon.
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
		// This precedes the read, so that data that was written before .eof is read, too.
		_, err := c.dir.Dir.Stat(c.req.id + ".eof")
		last := in.complete || err == nil
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
