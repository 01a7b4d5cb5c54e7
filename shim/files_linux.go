// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// files is a call by files in the working directory of the shim; docs/files.md describes the protocol.
//
//	<id>.cmd <id>.req  ->  <id>.stdout <id>.stderr (<id>.stdin)  ->  <id>.status <id>.exit
//
// Other processes can write there too. Therefore files are created exclusively, only regular files are read, links are
// not followed, and all values are checked. It has many fields because each file of the call is read or written a part
// at a time. A type for each would make the program larger.
type files struct {
	c            *call
	id           string
	tty          bool          // the caller has a terminal, and the command never has
	wants        bool          // stdin goes to the host, once the host requests it
	total        time.Duration // time limit of the call; 0: none
	limit        bool          // a limit was given
	hostLimit    bool          // it is of --timeout or HOSTEXEC_TIMEOUT, which the host enforces too; else of PROXY_TIMEOUT
	clockRunning bool          // clock is running; used by follow only

	wakeupPipe  int    // descriptor of the named pipe <id>.bell; -1: none, so the shim polls
	wakeupWorks bool   // the host writes to it
	hostClosed  bool   // the host had it open and has closed it
	idleWaits   int    // waits since the last change
	buf         []byte // for output

	ended bool // follow has ended the call

	begun    atomic.Bool   // stdout and stderr are open
	fds      [2]int        // stdout and stderr, if begun
	copied   [2]int64      // bytes of them that were copied
	progress atomic.Uint64 // progress counter for clock

	mu    sync.Mutex // guards the fields below, and the creation of files against removeFiles
	over  bool       // the call is ending
	alive int        // descriptor of <id>.alive, or -1
}

// requests returns the directory for requests of the command that args call, and the arguments. It returns
// "" if the carrier is not files. share is the directory of a session's share in the container. PROXY_DIR
// is for callers without a session, and for commands of a proxy.
func (c *call) requests(share string, args []string) (string, []string) {
	how := readWord(share + "/carrier")
	dir := variable(c.env, "PROXY_DIR")
	switch {
	case how != "" && how != "files", how == "" && dir == "":
		return "", nil
	case dir == "":
		dir = share + "/proxy/" + base(args)
	case len(args) > 1 && base(args) == "hostexec":
		args = args[1:] // the directory belongs to one command, and hostexec's verbs have none
	}
	return dir, args
}

// base returns the name of the command that args call.
//
//go:noinline
func base(args []string) string {
	if len(args) == 0 {
		return "hostexec"
	}
	name := args[0]
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '/' {
			return name[i+1:]
		}
	}
	return name
}

// byFiles makes the call by files in dir, and returns the exit code.
func (c *call) byFiles(req *wire.Exec, share, dir string) int {
	f := &files{c: c, id: newID(), wakeupPipe: -1, alive: -1, buf: make([]byte, 32<<10)}
	if bad := f.limits(req.Args); bad != "" {
		return c.fail(wire.CodeFailed, "PROXY_TIMEOUT: want a time such as 30, 30s, 5m or 0 for none: "+bad, "")
	}
	f.tty = req.FDs[0] == wire.FDTTY || req.FDs[1] == wire.FDTTY || req.FDs[2] == wire.FDTTY
	f.wants = req.FDs[0] != wire.FDNull && req.FDs[0] != wire.FDTTY && variable(c.env, "HOSTEXEC_STDIN") != "null"
	err := syscall.Chdir(dir)
	if err == nil {
		err = f.writeRequest(req, share)
	}
	if err != nil {
		f.removeFiles()
		if err == syscall.ENOSPC || err == syscall.EDQUOT {
			return c.fail(wire.CodeFailed, "the request cannot be written: no space left in "+dir, "make room on the host's disk that has this directory: docker hostexec doctor")
		}
		return c.fail(wire.CodeFailed, "no directory for requests: "+dir+": "+err.Error(), "is docker hostexec running on the host?")
	}
	c.files.Store(f)
	c.listen()
	if f.limit {
		f.startClock()
	}
	return f.follow()
}

// limits reads the call's time limit. It returns PROXY_TIMEOUT if its value is invalid.
func (f *files) limits(args []string) (bad string) {
	text := variable(f.c.env, "HOSTEXEC_TIMEOUT")
	if option := timeoutOption(args); option != "" {
		text = option
	} else if len(args) > 1 && base(args) == "hostexec" && (args[1] == "logs" || args[1] == "wait") {
		text = "0" // they follow jobs
	}
	if f.hostLimit = text != ""; !f.hostLimit {
		text = variable(f.c.env, "PROXY_TIMEOUT")
	}
	if text == "" {
		return ""
	}
	f.total, f.limit = duration(text)
	if !f.limit && !f.hostLimit {
		return text
	}
	return "" // the host refuses an invalid HOSTEXEC_TIMEOUT
}

// timeoutOption returns the value of --timeout before the command's name, or "".
func timeoutOption(args []string) (text string) {
	if len(args) == 0 || base(args) != "hostexec" {
		return ""
	}
	for i := 1; i < len(args) && len(args[i]) > 1 && args[i][0] == '-' && args[i] != "--"; i++ {
		switch word := args[i]; {
		case len(word) > 10 && word[:10] == "--timeout=":
			text = word[10:]
		case word == "--timeout" && i+1 < len(args):
			text = args[i+1]
			i++
		case word == "--env", word == "--wait-for-log", word == "--wait-for-port", word == "--wait-timeout":
			i++ // its value
		}
	}
	return text
}

// duration parses a time in the host's syntax: numbers with units, or a number of seconds. It rounds
// fractions up, and limits very large numbers.
func duration(text string) (d time.Duration, ok bool) {
	for text != "" {
		n, i := digits(text)
		if i == 0 {
			return 0, false
		}
		if text = text[i:]; text != "" && text[0] == '.' {
			var fraction uint64
			if fraction, i = digits(text[1:]); fraction != 0 {
				n++
			}
			text = text[i+1:]
		}
		unit, size := time.Second, 1
		switch {
		case text == "":
			size = 0
		case len(text) > 1 && text[:2] == "ms":
			unit, size = time.Millisecond, 2
		case text[0] == 'm':
			unit = time.Minute
		case text[0] == 'h':
			unit = time.Hour
		case text[0] != 's':
			return 0, false
		}
		text = text[size:]
		d += time.Duration(min(n, 1<<20)) * unit
		ok = true
	}
	return max(d, 0), ok
}

// number parses all of text as a decimal number.
//
//go:noinline
func number(text string) (n uint64, ok bool) {
	n, i := digits(text)
	return n, i > 0 && i == len(text)
}

// digits parses the decimal digits at the start of text, and returns their number. For a number that is
// too large, it returns a very large one.
//
//go:noinline
func digits(text string) (n uint64, i int) {
	for ; i < len(text) && text[i]-'0' < 10; i++ {
		if n < 1<<58 {
			n = n*10 + uint64(text[i]-'0')
		}
	}
	return n, i
}
