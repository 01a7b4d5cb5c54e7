// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"os"
	"os/signal"
	"syscall"
	"time"
	"unsafe"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// listen subscribes to signals, once, behind the back of whoever waits for the host.
func (c *call) listen() {
	if c.listening {
		return
	}
	c.listening = true
	// Ends with the process: a call listens to signals until its last instruction.
	go func() {
		ch := make(chan os.Signal, len(wire.Signals))
		var list [len(wire.Signals)]os.Signal
		n := 0
		c.ctty, _ = syscall.Open("/dev/tty", syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
		actions.Lock()
		for _, f := range wire.Signals {
			if sig := syscall.Signal(f.Number); !ignored(sig) { // nohup, or a shell without job control
				list[n] = sig
				n++
			}
		}
		signal.Notify(ch, list[:n]...)
		actions.Unlock()
		unblock()
		for s := range ch {
			c.caught(ch, s.(syscall.Signal))
		}
	}()
}

// caught passes on sig, and the signals that follow it at once. timeout(1), which ends its whole
// process group, sends CONT next: then all these signals are for the command's group.
func (c *call) caught(ch <-chan os.Signal, sig syscall.Signal) {
	set := 1 << sig
	for poll(nil, time.Millisecond); len(ch) > 0; {
		set |= 1 << (<-ch).(syscall.Signal)
	}
	for _, f := range wire.Signals {
		if set&(1<<f.Number) != 0 {
			c.signal(syscall.Signal(f.Number), set&^(1<<syscall.SIGCONT|1<<syscall.SIGTSTP) != 0 && set&(1<<syscall.SIGCONT) != 0)
		}
	}
}

// signal passes on one signal, to the command alone unless toGroup says otherwise. Before the
// command runs it is about the shim itself: leaving withdraws the request.
func (c *call) signal(sig syscall.Signal, toGroup bool) {
	if !c.runs() {
		switch sig {
		case syscall.SIGTSTP:
			stopOneself(syscall.SIGTSTP)
		case syscall.SIGCONT, syscall.SIGWINCH:
		default:
			if f := c.files.Load(); f != nil {
				f.leave(name(sig))
			} else if sig == syscall.SIGINT && c.asked.Load() {
				c.forward(sig, false) // after ^C no caller comes back for the answer
			}
			syscall.Exit(die(sig))
		}
		return
	}
	if c.tty != nil && sig == syscall.SIGWINCH {
		c.resize()
		return
	}
	toGroup = toGroup || c.byTerminal(sig)
	switch sig {
	case syscall.SIGCONT:
		c.again()
	case syscall.SIGTSTP:
		c.alone.Store(!toGroup)
	}
	c.forward(sig, toGroup)
	c.mayBeStuck(sig)
}

// byTerminal reports whether the caller's terminal may have sent sig: it sends signals to all of
// its foreground group. A key of a terminal in the foreground cannot be told from kill(1).
func (c *call) byTerminal(sig syscall.Signal) bool {
	var group int32
	if c.ctty < 0 {
		return false
	}
	gone := ioctl(c.ctty, syscall.TIOCGPGRP, unsafe.Pointer(&group)) != nil
	switch sig {
	case syscall.SIGHUP:
		return gone
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGWINCH:
		// No key of a raw terminal sends one.
		return int(group) == syscall.Getpgrp() && (c.tty == nil || !c.tty.raw())
	}
	return false
}

// runs reports whether the command runs. Whoever sends the signal may have seen it do so
// before the shim has read Started: what has arrived is waited for, a moment.
func (c *call) runs() bool {
	for range 50 {
		if c.running.Load() || !c.asked.Load() {
			break
		}
		fd := [1]pollFD{{fd: int32(c.host.fd), events: pollIn}}
		poll(fd[:], 0)
		if fd[0].revents != pollIn {
			break // nothing is there, or the host is gone
		}
		poll(nil, time.Millisecond)
	}
	return c.running.Load()
}

// forward sends the host a signal, and in the same write who gets it.
func (c *call) forward(sig syscall.Signal, toGroup bool) {
	c.sent.Store(int64(sig))
	var b [2 * (wire.HeaderLen + 8)]byte
	c.host.write(wire.AppendDelivery(b[:0], name(sig), toGroup))
}

// name is what a forwarded signal is called.
//
//go:noinline
func name(sig syscall.Signal) string {
	for _, f := range wire.Signals {
		if f.Number == byte(sig) {
			return f.Name
		}
	}
	return ""
}

// resize tells the terminal's size. Two that do it at once must not overtake each other
// between looking and telling, or the older size would be the last word.
func (c *call) resize() {
	c.sizes.Lock()
	defer c.sizes.Unlock()
	var b [8]byte
	c.host.send(wire.KindWinsize, winsize(0).Append(b[:0]))
}

// toFront takes the terminal if the shim is in the foreground, which it reports.
func (c *call) toFront() bool {
	inFront, news := c.tty.front(false)
	if news {
		c.resize() // it may have changed while it was not ours
	}
	return inFront
}

// again takes the terminal after a stop, whose shell has had it in between.
func (c *call) again() {
	if c.tty == nil {
		return
	}
	if _, news := c.tty.front(true); news {
		c.resize()
	}
	if c.stdin != nil {
		c.stdin.stir()
	}
}

// stopped stops the shim, as the command was: the shell sees its job stop. It returns
// when the job goes on, or at once if nobody could continue it (pid 1, an orphaned
// group); so does the command then.
func (c *call) stopped() {
	if c.tty != nil {
		c.tty.part()
		stopGroup()
		c.tty.meet()
		c.again()
	} else {
		stopOneself(syscall.SIGSTOP)
	}
	c.forward(syscall.SIGCONT, !c.alone.Swap(false)) // a shell continues all of a job
}
