// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// files is a call by files in the directory that the shim stands in; docs/files.md has the
// protocol.
//
//	<id>.cmd <id>.req  ->  <id>.stdout <id>.stderr (<id>.stdin)  ->  <id>.status <id>.exit
//
// Others can write there too. So what is made is made anew, what is read is a regular file,
// and not through a link, and nothing of it is taken for more than it may be.
type files struct {
	c      *call
	id     string
	wants  bool          // stdin is for the host, once it asks
	total  time.Duration // how long the call may take, if it is limited; 0: as long as it likes
	limit  bool          // it is limited
	theirs bool          // by HOSTEXEC_TIMEOUT, which the host keeps too
	clocks bool          // clock has begun; follow's own

	bell   int    // the descriptor of <id>.bell; -1: there is none, and polling has to do
	proven bool   // the host rings it
	gone   bool   // the host held it, and does not any more
	naps   int    // how often one has waited since something happened
	buf    []byte // of output

	departed bool // follow has ended the call

	begun atomic.Bool   // the streams are open
	fds   [2]int        // stdout and stderr, once begun
	moved [2]int64      // bytes of them that were passed on
	heard atomic.Uint64 // the same for clock: it changes when they do

	mu    sync.Mutex // guards the fields below, and making files that removing must not miss
	over  bool       // somebody ends the call
	alive int        // the descriptor of <id>.alive, or -1
}

// requests returns the directory of the requests of the command that args call, where that
// is done by files, and the call; share is where a container of a session would have it.
// PROXY_DIR is for whoever has no session, or calls a proxy's command from one that has files.
func (c *call) requests(share string, args []string) (string, []string) {
	how := word(share + "/carrier")
	dir := variable(c.env, "PROXY_DIR")
	switch {
	case how != "" && how != "files", how == "" && dir == "":
		return "", nil
	case dir == "":
		dir = share + "/proxy/" + base(args)
	case len(args) > 1 && base(args) == "hostexec":
		args = args[1:] // a directory is one command's, and hostexec's verbs have none
	}
	return dir, args
}

// base is the name of the command that args call.
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

// byFiles makes the call by files in dir, and returns the code to exit with.
func (c *call) byFiles(req *wire.Exec, share, dir string) int {
	f := &files{c: c, id: newID(), bell: -1, alive: -1, buf: make([]byte, 32<<10)}
	if bad := f.limits(req.Args); bad != "" {
		return c.fail(wire.CodeFailed, "PROXY_TIMEOUT: want a time such as 30, 30s, 5m or 0 for none: "+bad, "")
	}
	f.wants = req.FDs[0] != wire.FDNull && req.FDs[0] != wire.FDTTY && variable(c.env, "HOSTEXEC_STDIN") != "null"
	err := syscall.Chdir(dir)
	if err == nil {
		err = f.ask(req, share)
	}
	if err != nil {
		f.tidy()
		return c.fail(wire.CodeFailed, "no directory for requests: "+dir+": "+err.Error(), "is docker hostexec running on the host?")
	}
	c.files.Store(f)
	c.listen()
	if f.limit {
		f.tick()
	}
	return f.follow()
}

// limits reads how long the call that args make may take. It returns a time that is not valid.
func (f *files) limits(args []string) (bad string) {
	text := variable(f.c.env, "HOSTEXEC_TIMEOUT")
	if len(args) > 2 && base(args) == "hostexec" {
		switch word := args[1]; {
		case word == "--timeout":
			text = args[2]
		case len(word) > 10 && word[:10] == "--timeout=":
			text = word[10:]
		}
	}
	if f.theirs = text != ""; !f.theirs {
		text = variable(f.c.env, "PROXY_TIMEOUT")
	}
	if text == "" {
		return ""
	}
	f.total, f.limit = duration(text)
	if !f.limit && !f.theirs {
		return text
	}
	return "" // the host refuses a HOSTEXEC_TIMEOUT that is not valid
}

// duration reads a time as the host does: numbers with their units, or of seconds. A fraction is
// rounded up, and a time that is too long becomes a very long one.
func duration(text string) (d time.Duration, ok bool) {
	for text != "" {
		n, i := digits(text)
		if i == 0 {
			return 0, false
		}
		if text = text[i:]; text != "" && text[0] == '.' {
			_, i = digits(text[1:])
			n, text = n+1, text[i+1:]
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

// number reads all of text as decimal digits.
//
//go:noinline
func number(text string) (n uint64, ok bool) {
	n, i := digits(text)
	return n, i > 0 && i == len(text)
}

// digits reads the decimal digits that text begins with, and returns how many they are. Of
// a number that is too large it returns a very large one.
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
