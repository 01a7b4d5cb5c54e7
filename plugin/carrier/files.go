// SPDX-License-Identifier: Apache-2.0

package carrier

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// Files is the carrier that needs neither a socket nor an engine: a directory into which a
// caller puts a request, and in which it finds the answer. docs/files.md has the protocol.
//
//	<id>.req   ->  a call, as frames over a pipe  ->  <id>.stdout, .stderr, then .exit
//
// It is a net.Listener whose connections are calls. Everything in such a directory is the
// other side's: what is read is read once, from a regular file with one name and a cap;
// what is written is written to files that were made here.
type Files struct {
	log    *slog.Logger
	places []*place
	notify *notifier // nil: there is none, and polling has to do
	proven bool      // events are known to come; the loop's own
	untold time.Time // when a request was found without an event; the loop's own

	calls    chan net.Conn
	done     chan struct{} // closed by Close
	draining chan struct{} // closed by Drain
	drain    sync.Once
	closing  sync.Once
	loop     sync.WaitGroup
	flight   sync.WaitGroup // calls
	again    chan struct{}  // a call has ended: what had to wait may begin

	mu    sync.Mutex // guards the fields below
	count int        // calls in flight
}

// Place is a directory of requests.
type Place struct {
	Box      *dir.Box // which Close closes
	Commands []string // whose requests are served from it
	// Others returns what other processes serve from the same directory, at the moment.
	// Nil: nobody does.
	Others func() []string
	// Cwd is where a call is made whose caller does not say.
	Cwd func() string
}

// place is a Place and what is going on in it.
type place struct {
	Place
	// The loop's own:
	mod   time.Time            // of the directory, when it was last read
	read  time.Time            // when that was
	empty map[string]time.Time // requests that may be unfinished, when they were first seen
	aged  map[string]time.Time // files that say that they are of the future, likewise

	mu     sync.Mutex // guards the field below
	flying map[string]*filesCall
}

// maxFlying is how many calls there are at a time. Further requests wait as files.
const maxFlying = 1024

// ListenFiles serves the requests in places, those that are there already and those that
// come. Close ends it.
func ListenFiles(places []Place, log *slog.Logger) (*Files, error) {
	l := &Files{
		log: log, calls: make(chan net.Conn), done: make(chan struct{}), draining: make(chan struct{}), again: make(chan struct{}, 1),
	}
	for _, p := range places {
		l.places = append(l.places, &place{Place: p, flying: map[string]*filesCall{}, empty: map[string]time.Time{}, aged: map[string]time.Time{}})
	}
	l.watch() // before anything is looked for: nothing comes unseen
	for _, p := range l.places {
		p.sweep(time.Now())
	}
	// ends with done; Close waits for it.
	l.loop.Go(l.look)
	return l, nil
}

// Accept returns the caller's end of the next call, which speaks the wire's frames.
func (l *Files) Accept() (net.Conn, error) {
	select {
	case c := <-l.calls:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (l *Files) Addr() net.Addr { return filesAddr{l.places[0].Box.Path()} }

type filesAddr struct{ path string }

func (a filesAddr) Network() string { return "files" }
func (a filesAddr) String() string  { return a.path }

// Drain refuses requests from here on and returns when no call is in flight any more, or
// when until is closed.
func (l *Files) Drain(until <-chan struct{}) {
	l.drain.Do(func() { close(l.draining) })
	idle := make(chan struct{})
	// ends with the calls, which end at the latest when the server that has accepted them does.
	go func() {
		l.flight.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-until:
	}
}

// Close takes no more calls and returns when those that were accepted have their answers:
// whoever serves them has to end them.
func (l *Files) Close() error {
	var err error
	l.closing.Do(func() {
		l.drain.Do(func() { close(l.draining) })
		close(l.done)
		l.loop.Wait()
		l.flight.Wait()
		if l.notify != nil {
			err = l.notify.Close()
		}
		for _, p := range l.places {
			err = errors.Join(err, p.Box.Close())
		}
	})
	return err
}

// over reports whether requests are refused.
func (l *Files) over() bool {
	select {
	case <-l.draining:
		return true
	default:
		return false
	}
}

// enter makes room for a call; it reports false when there is none.
func (l *Files) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= maxFlying {
		return false
	}
	l.count++
	return true
}

func (l *Files) leave() {
	l.mu.Lock()
	l.count--
	l.mu.Unlock()
	select {
	case l.again <- struct{}{}:
	default:
	}
}

// take looks at the request of id, and reports whether it has taken it. Else it is nobody's,
// or left: for another process, or for later.
func (l *Files) take(p *place, id string) bool {
	if !l.enter() {
		return false
	}
	ask, ok := l.hear(p, id)
	if !ok {
		l.mu.Lock()
		l.count--
		l.mu.Unlock()
		return false
	}
	c := newFilesCall(p, ask)
	p.mu.Lock()
	p.flying[id] = c
	p.mu.Unlock()
	// ends with the call, or with done.
	l.flight.Go(func() {
		defer l.leave()
		c.serve(l)
	})
	return true
}

// land has last write the last of a call's files, and its id be free. Who sees them may use
// the id again at once: of that call nothing is looked at before.
func (p *place) land(id string, last func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last()
	delete(p.flying, id)
}

func (p *place) call(id string) *filesCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flying[id]
}

// split takes a name apart that belongs to the protocol: an id of 1 to 64 letters, digits,
// - and _, a dot, and what the file is for.
func split(name string) (id, what string, ok bool) {
	id, what, ok = strings.Cut(name, ".")
	if !ok || id == "" || len(id) > 64 || id[0] == '-' || !known[what] {
		return "", "", false
	}
	for _, c := range []byte(id) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return "", "", false
		}
	}
	return id, what, true
}

// known is what files there are of a call, and whether they are swept when they are old.
var known = map[string]bool{
	"req": true, "req.tmp": true, "cmd": true, "stdin": true, "eof": true, "alive": true, "cancel": true,
	"stdout": true, "stderr": true, "exit": true, "exit.tmp": true, "status": true, "beat": true, "bell": true,
}
