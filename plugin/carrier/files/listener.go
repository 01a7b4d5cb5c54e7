// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/limit"
)

// Listener is the carrier that needs neither a socket nor an engine: a directory into which a
// caller puts a request, and in which it finds the answer. docs/files.md has the protocol.
//
//	<id>.req   ->  a call, as frames over a pipe  ->  <id>.stdout, .stderr, then .exit
//
// It is a net.Listener whose connections are calls. Everything in such a directory is the
// other side's: what is read is read once, from a regular file with one name and a cap;
// what is written is written to files that were made here.
type Listener struct {
	log         *slog.Logger
	limits      *limit.Session
	path        string        // of the first directory, for people
	places      []*requestDir // only the loop uses it, and Close after that
	notify      *notifier     // nil: there is none, and polling has to do
	eventsWork  bool          // events are known to come; the loop's own
	missedSince time.Time     // when a request was found without an event; the loop's own

	calls    chan net.Conn
	done     chan struct{} // closed by Close
	draining chan struct{} // closed by Drain
	drain    sync.Once
	closing  sync.Once
	loop     sync.WaitGroup
	flight   sync.WaitGroup // calls
	again    chan struct{}  // there is room: what had to wait may begin
	reserve  reserve        // space for the ends of calls on a full disk

	mu    sync.Mutex // guards the fields below
	count int        // calls in flight
	left  bool       // a request was not taken, and may still be there
	sent  int        // bytes of requests that were read, and nobody has heard yet
}

// RequestDir is a directory of requests.
type RequestDir struct {
	Dir      *dir.SharedDir // which Close closes
	Commands []string       // whose requests are served from it
	// Others returns what other processes serve from the same directory, at the moment.
	// Nil: nobody does.
	Others func() []string
	// Cwd is where a call is made whose caller does not say.
	Cwd func() string
	// Allows reports whether requests may come from a user id: files that were put there while
	// the directory was open are still in it. Nil: from every user id.
	Allows func(uid int) bool
	// Renew makes the place again after its directory was deleted or replaced. If it is nil, nobody
	// looks for that.
	Renew func() (RequestDir, error)
}

// requestDir is a Place and what is going on in it.
type requestDir struct {
	RequestDir
	// The loop's own:
	mod         time.Time            // of the directory, when it was last read
	read        time.Time            // when that was
	empty       map[string]time.Time // requests that may be unfinished, when they were first seen
	aged        map[string]time.Time // files that say that they are of the future, likewise
	renewTried  time.Time            // when it was last to be renewed
	wait        time.Duration        // how long after that it is not
	renewFailed bool                 // it could not be renewed

	mu             sync.Mutex // guards the fields below
	flying         map[string]*call
	heartbeatCalls int       // calls in flight whose callers touch .heartbeat
	heartbeatEnded time.Time // when the last of these ended
	retired        bool      // no request is taken from it any more
}

// maxFlying is how many calls there are at a time. Further requests wait as files.
const maxFlying = 1024

// maxSent is how many bytes of requests are read before those that were read are heard.
// Further requests wait.
const maxSent = 8 << 20

// Listen serves the requests in places, those that are there already and those that
// come. What their answers have on the disk counts for limits. Close ends it.
func Listen(places []RequestDir, log *slog.Logger, limits *limit.Session) (*Listener, error) {
	l := &Listener{
		log: log, limits: limits, path: places[0].Dir.Path(), calls: make(chan net.Conn), done: make(chan struct{}), draining: make(chan struct{}), again: make(chan struct{}, 1),
	}
	for _, p := range places {
		l.places = append(l.places, newRequestDir(p))
	}
	l.watch() // before anything is looked for: nothing comes unseen
	for _, p := range l.places {
		p.sweep(time.Now())
		l.share(p)
	}
	// ends with done; Close waits for it.
	l.loop.Go(l.look)
	return l, nil
}

func newRequestDir(p RequestDir) *requestDir {
	return &requestDir{RequestDir: p, wait: renewing, flying: map[string]*call{}, empty: map[string]time.Time{}, aged: map[string]time.Time{}}
}

// Accept returns the caller's end of the next call, which speaks the wire's frames.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.calls:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return addr{l.path} }

type addr struct{ path string }

func (a addr) Network() string { return "files" }
func (a addr) String() string  { return a.path }

// Refuse refuses requests from here on. Calls that are ended later say that it was called.
func (l *Listener) Refuse() { l.drain.Do(func() { close(l.draining) }) }

// Drain refuses requests from here on and returns when no call is in flight any more, or
// when until is closed.
func (l *Listener) Drain(until <-chan struct{}) {
	l.Refuse()
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
func (l *Listener) Close() error {
	var err error
	l.closing.Do(func() {
		l.Refuse()
		close(l.done)
		l.loop.Wait()
		l.flight.Wait()
		if l.notify != nil {
			err = l.notify.Close()
		}
		l.reserve.release()
		for _, p := range l.places {
			if p.Others == nil || len(p.Others()) == 0 {
				_ = p.Dir.Remove(heartbeat) // a caller may have removed it
			}
			err = errors.Join(err, p.Dir.Close())
		}
	})
	return err
}

// over reports whether requests are refused.
func (l *Listener) over() bool {
	select {
	case <-l.draining:
		return true
	default:
		return false
	}
}

// enter makes room for a call; it reports false when there is none.
func (l *Listener) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= maxFlying || l.sent >= maxSent {
		l.left = true
		return false
	}
	l.count++
	return true
}

func (l *Listener) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count--
	l.retryLocked()
}

// hold notes that n bytes more of requests were read, or, if it is less than 0, heard.
func (l *Listener) hold(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent += n
	if n < 0 {
		l.retryLocked()
	}
}

// leaveSome notes that requests were left where they are.
func (l *Listener) leaveSome() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = true
}

// retryLocked has the directories read if a request may have been left in one. Mostly none was, and to
// read them costs a third of a call.
func (l *Listener) retryLocked() {
	if !l.left {
		return
	}
	l.left = false
	select {
	case l.again <- struct{}{}:
	default:
	}
}

// take looks at the request of id, and reports whether it has taken it. Else it is nobody's,
// or left: for another process, or for later.
func (l *Listener) take(p *requestDir, id string) bool {
	if !l.enter() {
		return false
	}
	ask, ok := l.readRequest(p, id)
	if !ok {
		l.mu.Lock()
		l.count--
		l.left = true // it may have lacked what a call has that ends: descriptors
		l.mu.Unlock()
		return false
	}
	c := newCall(p, ask)
	p.start(c)
	// ends with the call, or with done.
	l.flight.Go(func() {
		defer l.leave()
		c.serve(l)
	})
	return true
}

// start notes that a call is in flight.
func (p *requestDir) start(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flying[c.ask.id] = c
	if c.ask.heartbeat {
		p.heartbeatCalls++
	}
}

// finish has last write the last of a call's files, and its id be free. Who sees them may use
// the id again at once: of that call nothing is looked at before.
func (p *requestDir) finish(c *call, last func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last()
	delete(p.flying, c.ask.id)
	if c.ask.heartbeat {
		p.heartbeatCalls--
		p.heartbeatEnded = time.Now()
	}
	if p.retired && len(p.flying) == 0 {
		_ = p.Dir.Close() // nothing is left in it to lose
	}
}

func (p *requestDir) call(id string) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flying[id]
}

// split takes a name apart that belongs to the protocol: an id of 1 to 64 letters, digits,
// - and _, a dot, and what the file is for.
func split(name string) (id, what string, ok bool) {
	id, what, ok = strings.Cut(name, ".")
	if !ok || id == "" || len(id) > 64 || !known[what] {
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
