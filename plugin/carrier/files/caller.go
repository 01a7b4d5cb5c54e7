// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// keepaliveInterval is how often the host shows a caller that it is there.
const keepaliveInterval = 10 * time.Second

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

// watchCaller looks after the caller until over is closed: whether it is there and wants to stay,
// and what it has for stdin.
func (c *call) watchCaller(over <-chan struct{}) {
	beat := time.Now()
	alive := changingFile{name: c.ask.id + ".alive", max: aliveTimeout, shows: c.ask.alive, changed: beat}
	heart := changingFile{name: heartbeat, max: stale, changed: beat}
	for wait := polling; ; {
		t := time.NewTimer(wait)
		select {
		case <-over:
			t.Stop()
			return
		case <-c.wakeups:
			t.Stop()
		case <-t.C:
		}
		now := time.Now()
		c.callerGone = alive.missed(c.p.Dir, now) || c.wakeup.NoReader()
		c.ended = c.cancelled()
		c.stale.Store(c.ask.heartbeat && heart.missed(c.p.Dir, now))
		if c.callerGone || c.ended || c.stale.Load() || c.abandoned() {
			c.conn.Close() // which ends the whole tree
			return
		}
		if now.Sub(beat) >= keepaliveInterval {
			beat = now
			c.touchAlive()
		}
		c.mu.Lock()
		in := c.stdin
		c.mu.Unlock()
		if in != nil {
			var over *limit.Error
			if errors.As(in.look(), &over) {
				c.over.Store(over)
				c.conn.Close()
				return
			}
		}
		wait = min(wait*2, idling)
		if c.sendStdin() {
			wait = polling / 10
		}
	}
}

// cancelled reports whether the caller has said that it goes, and passes on by which signal.
func (c *call) cancelled() bool {
	e, err := c.p.Dir.Stat(c.ask.id + ".cancel")
	if err != nil || !e.Regular {
		return false
	}
	c.cancels.Store(true)
	text, _, _ := c.p.Dir.Read(c.ask.id+".cancel", 16)
	if name := strings.TrimSpace(string(text)); name == "INT" {
		c.send(wire.KindSignal, wire.AppendSignal(nil, name)) // a request that waits is withdrawn
	}
	return true
}

// abandoned reports whether the caller has removed what it was to read.
func (c *call) abandoned() bool { return c.out != nil && dir.Unnamed(c.out.f) }

// touchAlive shows the caller, and other processes that serve the directory, that the call goes on.
func (c *call) touchAlive() {
	name := c.ask.id + ".beat"
	if f, err := c.p.Dir.Create(name, c.ask.owner); err == nil {
		f.WriteString(time.Now().UTC().Format(time.RFC3339) + "\n")
		f.Close()
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
			if c.send(wire.KindStdin, in.buf[:n]) != nil {
				return false
			}
			continue
		}
		if last || err != nil && err != io.EOF {
			c.mu.Lock()
			in.ended = true
			c.mu.Unlock()
			c.send(wire.KindStdinEOF, nil)
			return false
		}
		return true
	}
}
