// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

const (
	// pulsing is how often the host is shown that the caller lives.
	pulsing = time.Second
	// silence is how many times that nothing may be heard of the host, where the call has
	// no limit.
	silence = 300
	// late is how long what the host has announced may take to be seen, and to be announced.
	late = 5 * time.Second
)

// finish ends the call as the host says, when all of what it announces is there: some file
// systems show things late.
func (f *files) finish(exit string) int {
	status := ""
	for waited := time.Duration(0); ; waited += often {
		status, _ = read(f.id+".status", 512) // the reason, which may be long, is its end
		out, _ := number(field(status, "stdout"))
		err, ok := number(field(status, "stderr"))
		if ok && uint64(f.moved[0]) >= out && uint64(f.moved[1]) >= err {
			break
		}
		if waited > late {
			return f.broken(wire.Error("some of the output was lost on its way from the host"))
		}
		poll(nil, often)
		if _, err := f.show(); err != nil {
			return f.broken(err)
		}
	}
	f.depart("")
	for exit != "" && exit[len(exit)-1] <= ' ' {
		exit = exit[:len(exit)-1]
	}
	code, ok := number(exit)
	if !ok || code > 255 {
		return f.broken(wire.Error("it makes no sense"))
	}
	m := wire.Exit{Code: byte(code), Signal: field(status, "signal")}
	if m.Consumed, _ = number(field(status, "stdin")); m.Consumed >= wire.Withheld {
		m.Text = field(status, "unread") + "\n"
	}
	switch field(status, "status") {
	case "exited":
		m.Outcome = wire.Exited
	case "signaled":
		m.Outcome = wire.Signaled
	}
	return f.c.end(m)
}

// field returns a value of a status, which is one line of JSON. Its order is fixed, and
// before the reason, its last, there is nothing that needs quotes within.
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

// broken ends the call when the output cannot be written, or something else stands where the
// host's files should.
func (f *files) broken(err error) int {
	if bad, ok := err.(unwritable); ok {
		return f.c.broken(bad)
	}
	f.depart("HUP")
	return f.c.fail(wire.CodeFailed, "the host's answer cannot be read: "+err.Error(), "")
}

// tick has clock begin, once.
func (f *files) tick() {
	if !f.clocks {
		f.clocks = true
		// Ends with the process: follow may be held up for good by who reads the output.
		go f.clock()
	}
}

// clock shows the host that the caller is there, and ends the call when its time is up. What
// is not limited ends when nothing is heard of the host for long.
func (f *files) clock() {
	heard, quiet := uint64(0), 0
	for left := f.total; ; {
		pause := pulsing
		if left > 0 && left < pause {
			pause = left
		}
		sleep(pause)
		f.pulse()
		if f.limit {
			if left -= pause; left > 0 || f.total == 0 {
				continue
			}
			if f.theirs && f.begun.Load() { // it has a moment to say so itself
				f.theirs, left = false, late
				continue
			}
		} else {
			var st syscall.Stat_t
			syscall.Lstat(f.id+".beat", &st)
			if now := f.heard.Load() + st.Ino + uint64(st.Mtim.Nano()); now != heard {
				heard, quiet = now, 0
			}
			if quiet++; quiet <= silence {
				continue
			}
		}
		if f.leave("TIME") {
			syscall.Exit(f.c.fail(wire.CodeTimeout, noAnswer, ""))
		}
	}
}

// sleep is never early.
func sleep(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	for syscall.Nanosleep(&ts, &ts) == syscall.EINTR {
	}
}

// pulse shows the host that the caller is there.
func (f *files) pulse() {
	f.mu.Lock()
	if !f.over && f.alive < 0 {
		f.alive, _ = f.create(".alive")
	}
	syscall.Write(f.alive, []byte{'\n'})
	f.mu.Unlock()
}

// eof says that there is no more stdin.
func (f *files) eof() {
	f.mu.Lock()
	if !f.over {
		f.put(".eof", nil)
	}
	f.mu.Unlock()
}

// leave ends the caller's part, once, and reports whether it was this time: nobody makes
// files of the call after it. why says what ends the command, if it still runs.
func (f *files) leave(why string) bool {
	f.mu.Lock()
	was := f.over
	f.over = true
	f.mu.Unlock()
	if was {
		return false
	}
	// In one step, so that the host does not read half of it.
	if why != "" && syscall.Unlink(f.id+".req") != nil && f.put(".req.tmp", []byte(why)) == nil {
		syscall.Rename(f.id+".req.tmp", f.id+".cancel")
	}
	f.tidy()
	return true
}

// depart is leave, of whoever ends the process then: where a signal or the clock has been
// faster, that one does.
func (f *files) depart(why string) {
	if !f.leave(why) && !f.departed {
		poll(nil, -1)
	}
	f.departed = true
}

// left reports whether the caller's part has ended.
func (f *files) left() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over
}

// tidy removes what the call has left. The host has removed what it has taken.
func (f *files) tidy() {
	for _, what := range [...]string{".req", ".req.tmp", ".cmd", ".alive", ".stdin", ".eof", ".beat", ".bell", ".stdout", ".stderr", ".status", ".exit"} {
		syscall.Unlink(f.id + what)
	}
}
