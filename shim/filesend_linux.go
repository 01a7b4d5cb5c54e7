// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

const (
	// aliveInterval is the interval at which the shim notifies the host that the caller is alive.
	aliveInterval = time.Second
	// maxSilentIntervals is the number of such intervals without a sign of the host after which a call ends.
	maxSilentIntervals = 300
	// announceTimeout is the time limit for announced data to become visible, and for an announced end.
	announceTimeout = 5 * time.Second
)

// finish ends the call with the host's result after all announced output is there. Some file systems show
// changes late.
func (f *files) finish(exit string) int {
	status := ""
	for i, b := range []byte(exit) {
		if b == '\n' {
			exit, status = exit[:i], exit[i+1:]
			break
		}
	}
	if err := f.awaitOutput(status); err != nil {
		return f.broken(err)
	}
	f.leaveAndEnd("")
	code, ok := number(exit)
	if !ok || code > 255 {
		return f.broken(wire.Error("it makes no sense"))
	}
	m := wire.Exit{Code: byte(code), Signal: field(status, "signal")}
	if m.Consumed, _ = number(field(status, "stdin")); m.Consumed >= wire.Withheld {
		m.Text = field(status, "unread") + "\n"
	}
	if text := unwrittenReason(status); text != "" {
		m.Text = text
	}
	switch field(status, "status") {
	case "exited":
		m.Outcome = wire.Exited
		if f.tty && m.Text == "" && (m.Code == 128 || m.Code == 255) { // of git and ssh, if they cannot ask
			m.Text = "hostexec: hint: if the command wanted to ask you: commands that are called by files have no terminal\n"
		}
	case "signaled":
		m.Outcome = wire.Signaled
	}
	return f.c.end(m)
}

// awaitOutput copies output until all that status announces is there.
func (f *files) awaitOutput(status string) error {
	out, _ := number(field(status, "stdout"))
	err, ok := number(field(status, "stderr"))
	for waited := time.Duration(0); !ok || uint64(f.copied[0]) < out || uint64(f.copied[1]) < err; waited += pollFast {
		if waited > announceTimeout {
			return wire.Error("some of the output was lost on its way from the host")
		}
		poll(nil, pollFast)
		if _, err := f.copyOutput(); err != nil {
			return err
		}
	}
	return nil
}

// field returns the value of a field of a status, which is one line of JSON. The order of fields is fixed,
// and values before the last field, the reason, contain no quotes or commas.
//
//go:noinline
func field(status, name string) string {
	name = `"` + name + `":`
	for i := 0; i+len(name) <= len(status); i++ {
		if status[i:i+len(name)] != name {
			continue
		}
		status = status[i+len(name):]
		for n, c := range []byte(status) {
			if c != ',' {
				continue
			}
			if n > 1 && status[0] == '"' {
				return status[1 : n-1]
			}
			return status[:n]
		}
	}
	return ""
}

// unwrittenReason returns the reason of a status if the host could not write it to stderr, because its disk is full.
func unwrittenReason(status string) string {
	const untold = `"untold":true,"reason":"`
	for i := 0; i+len(untold) < len(status); i++ {
		if status[i:i+len(untold)] != untold {
			continue
		}
		text := make([]byte, 0, len(status))
		for i += len(untold); i < len(status) && status[i] != '"'; i++ {
			if status[i] == '\\' && i+1 < len(status) {
				if i++; status[i] == 'n' {
					text = append(text, '\n')
					continue
				}
			}
			text = append(text, status[i])
		}
		return string(append(text, '\n'))
	}
	return ""
}

// broken ends the call if the output cannot be written, or if the host's files are invalid.
func (f *files) broken(err error) int {
	if bad, ok := err.(unwritable); ok {
		return f.c.broken(bad)
	}
	f.leaveAndEnd("HUP")
	return f.c.fail(wire.CodeFailed, "the host's answer cannot be read: "+err.Error(), "")
}

// startClock starts clock, once.
func (f *files) startClock() {
	if !f.clockRunning {
		f.clockRunning = true
		// Ends with the process: follow may block forever in a write of output.
		go f.clock()
	}
}

// clock notifies the host that the caller is alive, and ends the call at its time limit, or after a long silence of the
// host.
func (f *files) clock() {
	heard, quiet := uint64(0), 0
	for left := f.total; ; {
		pause := aliveInterval
		if left > 0 && left < pause {
			pause = left
		}
		sleep(pause)
		f.touchAlive()
		if now := f.hostState(); now != heard {
			heard, quiet = now, 0
		}
		left -= pause
		over := f.total > 0 && left <= 0
		if quiet++; quiet <= maxSilentIntervals && !over {
			continue
		}
		if over && f.hostLimit && f.begun.Load() { // the host has a moment to report the timeout itself
			heard = f.hostState()
			if sleep(reportTimeout); f.hostState() != heard {
				f.hostLimit, left = false, finishTimeout
				continue
			}
		}
		if f.leave("TIME") {
			syscall.Exit(f.c.fail(wire.CodeTimeout, noAnswer, ""))
		}
	}
}

// hostState returns a number that changes when the host does something for the call.
func (f *files) hostState() uint64 {
	var st syscall.Stat_t
	syscall.Lstat(f.id+".beat", &st)
	return f.progress.Load() + st.Ino + uint64(st.Mtim.Nano())
}

// sleep never returns early.
func sleep(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	for syscall.Nanosleep(&ts, &ts) == syscall.EINTR {
	}
}

// touchAlive notifies the host that the caller is alive.
func (f *files) touchAlive() {
	f.mu.Lock()
	if !f.over && f.alive < 0 {
		f.alive, _ = f.create(".alive")
	}
	syscall.Write(f.alive, []byte{'\n'})
	f.mu.Unlock()
}

// eof notifies the host that stdin has ended.
func (f *files) eof() {
	f.mu.Lock()
	if !f.over {
		f.put(".eof", nil)
	}
	f.mu.Unlock()
}

// leave ends the caller's part of the call. After it, the call's files are not created any more. It
// returns false if the part had ended before. why is the reason for cancelling the command, if it still
// runs.
func (f *files) leave(why string) bool {
	f.mu.Lock()
	was := f.over
	f.over = true
	f.mu.Unlock()
	if was {
		return false
	}
	if why != "" {
		f.readFallback()
	}
	// Renames, so that the host does not read an incomplete file.
	if why != "" && syscall.Unlink(f.id+".req") != nil && f.put(".req.tmp", []byte(why)) == nil {
		syscall.Rename(f.id+".req.tmp", f.id+".cancel")
	}
	f.removeFiles()
	return true
}

// readFallback reads and removes the file with the beginning of an object, if the host has written one.
func (f *files) readFallback() {
	text, _ := read(f.id+".fallback", wire.MaxFrame)
	if syscall.Unlink(f.id + ".fallback"); text != "" {
		f.c.fallback.Store(&text)
	}
}

// leaveAndEnd is like leave, for a caller that ends the process afterwards. If a signal or the clock came
// first, leaveAndEnd waits until that ends the process.
func (f *files) leaveAndEnd(why string) {
	if !f.leave(why) && !f.ended {
		poll(nil, -1)
	}
	f.ended = true
}

// hasLeft reports whether the caller's part has ended.
func (f *files) hasLeft() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over
}

// removeFiles removes the call's files. The host removes the files that it has taken.
func (f *files) removeFiles() {
	for _, what := range [...]string{".req", ".req.tmp", ".cmd", ".alive", ".stdin", ".eof", ".beat", ".bell", ".stdout", ".stderr", ".exit"} {
		syscall.Unlink(f.id + what)
	}
}
