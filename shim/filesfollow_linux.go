// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package shim

import (
	"syscall"
	"time"
)

// Answers are found by looking. The host rings a bell when it is worth looking now; where it
// is another kernel's it cannot. Until it has been heard once one looks often, and again when
// something was found for which nobody rang. (An inotify(7) would ask nothing of the host, but
// the kernel takes its time to close one: ten milliseconds and more at the end of each call.)
const (
	// idling is how often one looks where the bell is rung; often, rather and rarely where
	// it is not known that they do, the longer nothing happens.
	idling = 500 * time.Millisecond
	often  = 2 * time.Millisecond
	rather = 10 * time.Millisecond
	rarely = 100 * time.Millisecond
)

var streams = [2]string{".stdout", ".stderr"}

// follow passes on what comes, until the call is over.
func (f *files) follow() int {
	for told := false; ; {
		// Before the streams: what was written before the end is read after it.
		exit, err := read(f.id+".exit", 16)
		ended := err == nil
		moved := false
		if f.left() {
			poll(nil, -1) // whoever it was ends the process
		}
		if ended || err == syscall.ENOENT {
			moved, err = f.show()
		}
		if err != nil {
			return f.broken(err)
		}
		if ended {
			return f.finish(exit)
		}
		if f.gone {
			f.depart("HUP")
			return f.c.lost(errGone)
		}
		f.input()
		if f.naps++; moved {
			f.naps = 0
			f.proven = f.proven && told
		}
		told = f.wait()
	}
}

// show passes on what has come of the streams since the last time, and reports whether
// there was something.
func (f *files) show() (moved bool, err error) {
	if !f.begun.Load() {
		for i, what := range streams {
			fd, err := plain(f.id+what, syscall.O_RDONLY)
			if err == syscall.ENOENT {
				return false, nil // and then again from the first: a descriptor more does no harm
			}
			if err != nil {
				return false, err
			}
			f.fds[i] = fd
		}
		f.begun.Store(true)
		f.heard.Add(1)
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
		f.moved[i] += int64(n)
		f.heard.Add(1)
		moved = true
	}
	return moved, nil
}

// output writes what the command wrote. A reader that takes nothing may hold it up, and the
// host has to be shown meanwhile that somebody is there.
func (f *files) output(fd int, p []byte) error {
	out := [1]pollFD{{fd: int32(fd), events: pollOut}}
	if poll(out[:], 0); len(p) > 4096 || out[0].revents == 0 {
		f.tick()
	}
	f.c.writes.Add(1)
	err := writeAll(fd, p)
	f.c.writes.Add(1)
	if err != nil {
		return unwritable{fd, err}
	}
	return nil
}

// input begins to pass stdin on when the host has made the file for it.
func (f *files) input() {
	if !f.wants {
		return
	}
	to, err := plain(f.id+".stdin", syscall.O_WRONLY|syscall.O_APPEND)
	if err == syscall.ENOENT {
		return
	}
	f.wants = false
	if err == nil {
		f.c.stdin, err = newStdin(f.c)
	}
	if err == nil {
		f.c.stdin.file = to
		// Ends at the end of stdin, or with the process: nobody can wait for a read that
		// may never return.
		go f.c.stdin.pump()
	}
}

// wait returns when there may be something new, and reports whether the bell says so.
func (f *files) wait() (told bool) {
	pause := rarely
	switch {
	case f.proven:
		pause = idling
	case f.naps <= 4:
		pause = often
	case f.naps <= 16:
		pause = rather
	}
	fds := [1]pollFD{{fd: int32(f.bell), events: pollIn}}
	if poll(fds[:], pause); fds[0].revents == 0 {
		if pause > rather {
			f.tick()
		}
		return false
	}
	var b [64]byte
	if n, _ := syscall.Read(f.bell, b[:]); n <= 0 {
		// Who had begun to answer holds it no more, whatever has become of it; or it was
		// never the host's.
		f.bell, f.gone = -1, f.begun.Load()
	}
	f.proven = f.bell >= 0
	return true
}
