// SPDX-License-Identifier: Apache-2.0

package files

import (
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

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

func newRequestDir(p RequestDir) *requestDir {
	return &requestDir{RequestDir: p, wait: renewing, flying: map[string]*call{}, empty: map[string]time.Time{}, aged: map[string]time.Time{}}
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

// blocked reports whether there is a directory under the name of a request: it stays, and is
// not to keep others from being heard.
func (p *requestDir) blocked(name string) bool {
	e, err := p.Dir.Stat(name)
	return err == nil && e.Dir
}

// changed reports whether the directory is to be read: it has a new time, one so young that
// something may have come in it since, or it was not read for long. One with an empty
// request is: that may be a beginning.
func (p *requestDir) changed(now time.Time) bool {
	mod, err := p.Dir.Mod()
	if err != nil {
		return false
	}
	young := now.Sub(mod) < time.Second && now.After(mod)
	if mod.Equal(p.mod) && !young && now.Sub(p.read) < forcedPoll && len(p.empty) == 0 {
		return false
	}
	p.mod, p.read = mod, now
	return true
}

// retire closes the directory when the calls in flight have ended.
func (p *requestDir) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = true
	if len(p.flying) == 0 {
		_ = p.Dir.Close() // nothing is left in it to lose
	}
}
