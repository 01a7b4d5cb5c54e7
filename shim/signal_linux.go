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

// listen subscribes to signals, once, in a separate goroutine.
func (c *call) listen() {
	if c.listening {
		return
	}
	c.listening = true
	// Ends with the process: a call listens to signals until its last instruction.
	go func() {
		ch := make(chan os.Signal, 64)
		var list [len(wire.Signals)]os.Signal
		n := 0
		c.ctty = controllingTerminal()
		actions.Lock()
		for _, f := range wire.Signals {
			if sig := syscall.Signal(f.Number); !ignored(sig) { // as after nohup, or in a shell without job control
				list[n] = sig
				n++
			}
		}
		signal.Notify(ch, list[:n]...)
		actions.Unlock()
		unblock()
		for s := range ch {
			c.forwardPending(ch, s.(syscall.Signal))
		}
	}()
}

// forwardPending forwards sig, and signals that arrive directly after it. timeout(1) signals its whole process
// group and sends CONT directly afterwards. All these signals then go to the command's group. On a busy machine, CONT
// may be handled some milliseconds later.
func (c *call) forwardPending(ch <-chan os.Signal, sig syscall.Signal) {
	set := 1 << sig
	for sleep(10 * time.Millisecond); len(ch) > 0; {
		set |= 1 << (<-ch).(syscall.Signal)
	}
	for _, f := range wire.Signals {
		if set&(1<<f.Number) != 0 {
			c.signal(syscall.Signal(f.Number), set&^(1<<syscall.SIGCONT|1<<syscall.SIGTSTP) != 0 && set&(1<<syscall.SIGCONT) != 0)
		}
	}
}

// signal handles one signal. While the command runs, it forwards the signal, to the command only unless
// toGroup is set. Before that, the signal applies to the shim, and the shim's end withdraws the request.
func (c *call) signal(sig syscall.Signal, toGroup bool) {
	if !c.runs() {
		switch sig {
		case syscall.SIGTSTP:
			stopSelf(syscall.SIGTSTP)
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
		c.resumeTerminal()
	case syscall.SIGTSTP:
		c.stopCommandOnly.Store(!toGroup)
	}
	c.forward(sig, toGroup)
	c.watchBlockedWrite(sig)
}

// byTerminal reports whether the caller's terminal may have sent sig. A terminal sends signals to its
// whole foreground group. A key cannot be distinguished from kill(1) if the shim is in the foreground.
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
		// The keys of a raw terminal send no signals.
		return int(group) == syscall.Getpgrp() && (c.tty == nil || !c.tty.raw())
	}
	return false
}

// runs reports whether the command runs. The sender of a signal may know that before the shim has read
// Started. Therefore runs waits a moment if unread data has arrived.
func (c *call) runs() bool {
	for range 50 {
		if c.running.Load() || !c.asked.Load() {
			break
		}
		fd := [1]pollFD{{fd: int32(c.host.fd), events: pollIn}}
		poll(fd[:], 0)
		if fd[0].revents != pollIn {
			break // no data, or the connection is closed
		}
		poll(nil, time.Millisecond)
	}
	return c.running.Load()
}

// forward sends a signal and its target to the host, in one write.
func (c *call) forward(sig syscall.Signal, toGroup bool) {
	c.sent.Store(int64(sig))
	var b [2 * (wire.HeaderLen + 8)]byte
	c.host.write(wire.AppendDelivery(b[:0], name(sig), toGroup))
}

// name returns the name of a forwarded signal.
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

// resize sends the terminal's size. The lock keeps concurrent calls in order: otherwise an older size
// could be sent last.
func (c *call) resize() {
	c.sizes.Lock()
	defer c.sizes.Unlock()
	var b [8]byte
	c.host.send(wire.KindWinsize, winsize(0).Append(b[:0]))
}

// toFront takes the terminal if the shim is in the foreground, and reports whether it is.
func (c *call) toFront() bool {
	inFront, changed := c.tty.makeRawIfForeground(false)
	if changed {
		c.resize() // the size may have changed in the background
	}
	return inFront
}

// resumeTerminal takes the terminal again after a stop, because the shell has used it in between.
func (c *call) resumeTerminal() {
	if c.tty == nil {
		return
	}
	if _, changed := c.tty.makeRawIfForeground(true); changed {
		c.resize()
	}
	if c.stdin != nil {
		c.stdin.notify()
	}
}

// stopped stops the shim after the command has stopped, so that the shell sees its job stop. It returns
// when the job continues. It returns at once if the shim cannot be stopped (pid 1, an orphaned group). In
// both cases, the command continues.
//
// Without a controlling terminal there is no job control. The shim then stops only if it got TSTP itself: whoever sent
// that can continue it. A shim that stopped because its command has stopped itself would not see the call's end.
func (c *call) stopped() {
	commandOnly := c.stopCommandOnly.Swap(false)
	switch {
	case c.tty != nil:
		c.tty.restore()
		stopGroup()
		c.tty.allowRaw()
		c.resumeTerminal()
	case commandOnly, syscall.Getpid() == 1:
		stopSelf(syscall.SIGSTOP)
	case hasControllingTerminal():
		stopSelf(syscall.SIGTSTP) // has no effect in an orphaned group, which nobody would continue
	default:
		return
	}
	c.forward(syscall.SIGCONT, !commandOnly) // a shell continues the whole job
}
