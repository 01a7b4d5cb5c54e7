// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package shim

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// forwarded are the signals that reach the command, by name, as numbers differ between
// kernels. They are few because each subscription costs a rendezvous of two threads.
var forwarded = [...]struct {
	sig  syscall.Signal
	name string
}{
	{syscall.SIGINT, "INT"},
	{syscall.SIGTERM, "TERM"},
	{syscall.SIGHUP, "HUP"},
	{syscall.SIGQUIT, "QUIT"},
	{syscall.SIGUSR1, "USR1"},
	{syscall.SIGUSR2, "USR2"},
	{syscall.SIGWINCH, "WINCH"},
	{syscall.SIGTSTP, "TSTP"},
	{syscall.SIGCONT, "CONT"}, // the last: that it is caught tells a test that all are
}

// listen subscribes to signals, once, behind the back of whoever waits for the host.
func (c *call) listen() {
	if c.listening {
		return
	}
	c.listening = true
	// Ends with the process: a call listens to signals until its last instruction.
	go func() {
		ch := make(chan os.Signal, len(forwarded))
		var list [len(forwarded)]os.Signal
		n := 0
		actions.Lock()
		for _, f := range forwarded {
			if !ignored(f.sig) { // nohup, or a shell without job control
				list[n] = f.sig
				n++
			}
		}
		signal.Notify(ch, list[:n]...)
		actions.Unlock()
		for s := range ch {
			c.signal(s.(syscall.Signal))
		}
	}()
}

// signal passes on one signal. Before the command runs it is about the shim itself:
// leaving withdraws the request.
func (c *call) signal(sig syscall.Signal) {
	if !c.runs() {
		switch sig {
		case syscall.SIGTSTP:
			stopOneself(syscall.SIGTSTP)
		case syscall.SIGCONT, syscall.SIGWINCH:
		default:
			if f := c.files.Load(); f != nil {
				f.leave(name(sig))
			} else if sig == syscall.SIGINT && c.asked.Load() {
				c.forward(sig) // nobody comes back for what ^C ended
			}
			syscall.Exit(die(sig))
		}
		return
	}
	if c.tty != nil && sig == syscall.SIGWINCH {
		c.resize()
		return
	}
	if sig == syscall.SIGCONT {
		c.again()
	}
	c.forward(sig)
	c.mayBeStuck(sig)
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

func (c *call) forward(sig syscall.Signal) {
	var b [8]byte
	c.host.send(wire.KindSignal, wire.AppendSignal(b[:0], name(sig)))
}

// name is what a forwarded signal is called.
func name(sig syscall.Signal) string {
	for _, f := range forwarded {
		if f.sig == sig {
			return f.name
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
	c.forward(syscall.SIGCONT)
}
