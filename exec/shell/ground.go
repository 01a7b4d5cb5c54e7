// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"crypto/rand"
	"strings"
	"sync"
	"syscall"
	"time"
)

// backend is where a shell's process stands: on this host, or in a container.
type backend interface {
	writeLine(line string) error                         // has the shell read line
	open(id string, b StartConfig) (commandFiles, error) // makes the files of a command
	look(request string) subtree                         // looks at what there is before a command
	copied(pid int, request string) subtree              // a copy that the shell has made
	cwd() string                                         // where it stands, "" if that is unknown
	kill()                                               // ends it and all that it runs; does not wait
	left() <-chan struct{}                               // closed when nothing of it is, but for what the dead leaves
	hasLeftovers() bool                                  // whether there is something of a dead one
	remove()                                             // ends that, and waits
}

// subtree is a process that lives on while what grows from it ends, as proctree has it.
type subtree interface {
	Alive() bool
	Interrupt(request string)
	Signal(sig syscall.Signal)
	EndNew(request string, grace time.Duration) error
	EndSubtree(pid int, request string, grace time.Duration) error
}

// commandFiles is what one command has there: files of its own.
type commandFiles interface {
	names() scriptNames
	write(script, text string) error
	wakeups() <-chan struct{}    // receives when there may be news
	exited() (code int, ok bool) // once it has
	pid() (int, bool)            // of the copy that runs it, once it is told
	follow(o Output, fail func(error)) tail
	reuse()  // it has ended as it should
	remove() // closes and removes them: what still writes writes into nothing
}

// tail copies what is written, from follow on. A writer that fails makes it call fail, and
// copy no more.
type tail interface {
	// finish copies what is left, and returns when all is through.
	finish() error
}

// shellProcess is a shell's process.
type shellProcess struct {
	id   string // its marker
	pid  int
	last int // status of the last command; the turn's holder's
	backend

	once  sync.Once
	ended chan struct{} // closed when it has ended
	code  int           // right once ended is closed
}

func newShellProcess() *shellProcess {
	return &shellProcess{id: strings.ToLower(rand.Text()), ended: make(chan struct{})}
}

// end notes that the process has ended, and how.
func (l *shellProcess) end(code int) {
	l.once.Do(func() {
		l.code = code
		close(l.ended)
	})
}

// alive reports whether the process has not ended.
func (l *shellProcess) alive() bool {
	if l == nil {
		return false
	}
	return !closed(l.ended)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// waitDeath waits for the end of a shell that hears no more, and says how it ended.
func (l *shellProcess) waitDeath() error {
	<-l.ended
	return &TerminatedError{l.code}
}
