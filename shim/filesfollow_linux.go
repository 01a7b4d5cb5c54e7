// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"
	"time"
)

// The shim polls for the host's files. The host writes to a named pipe when there is something new, which
// does not work across kernels. Until the first such write, and after a change without one, the shim polls
// often. (inotify(7) would need nothing from the host, but closing one takes the kernel ten milliseconds
// or more for each call.)
const (
	// pollNotified is the polling interval if the host writes to the pipe. The other intervals apply if that is
	// not known; they grow while nothing changes.
	pollNotified = 500 * time.Millisecond
	pollFast     = 2 * time.Millisecond
	pollMedium   = 10 * time.Millisecond
	pollSlow     = 100 * time.Millisecond
)

var streams = [2]string{".stdout", ".stderr"}

// follow copies the output until the call is over.
func (f *files) follow() int {
	for notified := false; ; {
		// Reads .exit before the streams, because all output was written before .exit.
		exit, err := read(f.id+".exit", 544)
		ended := err == nil
		moved := false
		if f.hasLeft() {
			poll(nil, -1) // another goroutine ends the process
		}
		if ended || err == syscall.ENOENT {
			moved, err = f.copyOutput()
		}
		if err != nil {
			return f.broken(err)
		}
		if ended {
			return f.finish(exit)
		}
		if f.hostClosed {
			f.leaveAndEnd("HUP")
			return f.c.hostLost(errGone)
		}
		f.input()
		if f.idleWaits++; moved {
			f.idleWaits = 0
			f.wakeupWorks = f.wakeupWorks && notified
		}
		notified = f.wait()
	}
}

// copyOutput copies the new output of both streams, and reports whether there was any.
func (f *files) copyOutput() (moved bool, err error) {
	if !f.begun.Load() {
		for i, what := range streams {
			fd, err := openRegular(f.id+what, syscall.O_RDONLY)
			if err == syscall.ENOENT {
				if i > 0 {
					syscall.Close(f.fds[0]) // the next call opens both again
				}
				return false, nil
			}
			if err != nil {
				return false, err
			}
			f.fds[i] = fd
		}
		f.begun.Store(true)
		f.progress.Add(1)
		moved = true
	}
	for i := 0; i < 2; {
		n, err := syscall.Read(f.fds[i], f.buf)
		if err != nil {
			return moved, err
		}
		if n == 0 {
			i++
			continue
		}
		if err := f.output(i+1, f.buf[:n]); err != nil {
			return moved, err
		}
		f.copied[i] += int64(n)
		f.progress.Add(1)
		moved = true
	}
	return moved, nil
}

// output writes output of the command. A slow reader may block it, so it starts clock, which keeps notifying
// the host that the caller is alive.
func (f *files) output(fd int, p []byte) error {
	out := [1]pollFD{{fd: int32(fd), events: pollOut}}
	if poll(out[:], 0); len(p) > 4096 || out[0].revents == 0 {
		f.startClock()
	}
	f.c.writes.Add(1)
	err := writeAll(fd, p)
	f.c.writes.Add(1)
	if err != nil {
		return unwritable{fd, err}
	}
	return nil
}

// input starts to copy stdin when the host has created the file for it.
func (f *files) input() {
	if !f.wants {
		return
	}
	to, err := openRegular(f.id+".stdin", syscall.O_WRONLY|syscall.O_APPEND)
	if err == syscall.ENOENT {
		return
	}
	f.wants = false
	if err == nil {
		f.c.stdin, err = newStdin(f.c)
	}
	if err == nil {
		f.c.stdin.file = to
		// Ends at the end of stdin, or with the process: it cannot be waited for, because a read may block
		// forever.
		go f.c.stdin.copy()
	}
}

// wait waits for new data, and reports whether the named pipe announced it.
func (f *files) wait() (notified bool) {
	pause := pollSlow
	switch {
	case f.wakeupWorks:
		pause = pollNotified
	case f.idleWaits <= 4:
		pause = pollFast
	case f.idleWaits <= 16:
		pause = pollMedium
	}
	fds := [1]pollFD{{fd: int32(f.wakeupPipe), events: pollIn}}
	if poll(fds[:], pause); fds[0].revents == 0 {
		if pause > pollMedium {
			f.startClock()
		}
		return false
	}
	var b [64]byte
	if n, _ := syscall.Read(f.wakeupPipe, b[:]); n <= 0 {
		// The pipe is at its end. If the host had begun to answer, it has closed the pipe; otherwise it
		// never had it open.
		f.wakeupPipe, f.hostClosed = -1, f.begun.Load()
	}
	f.wakeupWorks = f.wakeupPipe >= 0
	return true
}
