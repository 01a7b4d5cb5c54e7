// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// keepaliveInterval is the interval at which writeBeat is called.
const keepaliveInterval = 10 * time.Second

// watchCaller watches the caller until ended is closed. It ends the call if the caller is killed or cancels it, and
// passes on its stdin.
func (c *call) watchCaller(ended <-chan struct{}) {
	lastBeat := time.Now()
	alive := changingFile{name: c.req.id + ".alive", max: aliveTimeout, active: c.req.alive, changed: lastBeat}
	heartbeatFile := changingFile{name: heartbeat, max: heartbeatTimeout, changed: lastBeat}
	for wait := pollInterval; ; {
		t := time.NewTimer(wait)
		select {
		case <-ended:
			t.Stop()
			return
		case <-c.checks:
			t.Stop()
		case <-t.C:
		}
		now := time.Now()
		c.callerGone = alive.missed(c.dir.Dir, now) || c.wakeup.NoReader()
		c.cancelSeen = c.readCancel()
		c.stale.Store(c.req.heartbeat && heartbeatFile.missed(c.dir.Dir, now))
		if c.callerGone || c.cancelSeen || c.stale.Load() || c.abandoned() {
			c.frames.Close() // ends the process tree
			return
		}
		if now.Sub(lastBeat) >= keepaliveInterval {
			lastBeat = now
			c.writeBeat()
		}
		c.mu.Lock()
		in := c.stdin
		c.mu.Unlock()
		if in != nil {
			var exceeded *limit.Error
			if errors.As(in.checkBacklog(), &exceeded) {
				c.exceeded.Store(exceeded)
				c.frames.Close()
				return
			}
		}
		wait = min(wait*2, idleInterval)
		if c.sendStdin() {
			wait = pollInterval / 10
		}
	}
}

// readCancel reports whether the caller has cancelled the call, and passes on its signal.
func (c *call) readCancel() bool {
	e, err := c.dir.Dir.Stat(c.req.id + ".cancel")
	if err != nil || !e.Regular {
		return false
	}
	c.cancelled.Store(true)
	text, _, _ := c.dir.Dir.Read(c.req.id+".cancel", 16)
	if name := strings.TrimSpace(string(text)); name == "INT" {
		c.frames.Send(wire.KindSignal, wire.AppendSignal(nil, wire.ToGroup))
		c.frames.Send(wire.KindSignal, wire.AppendSignal(nil, name)) // a request that waits for approval is withdrawn
	}
	return true
}

// abandoned reports whether the caller has removed the file of its output.
func (c *call) abandoned() bool { return c.out != nil && dir.Removed(c.out.f) }

// writeBeat writes <id>.beat, which shows the caller, and other processes that serve the directory, that the call is in
// flight.
func (c *call) writeBeat() {
	name := c.req.id + ".beat"
	if f, err := c.dir.Dir.Create(name, c.req.owner); err == nil {
		f.WriteString(time.Now().UTC().Format(time.RFC3339) + "\n")
		f.Close()
	}
}
