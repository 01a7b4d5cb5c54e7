// SPDX-License-Identifier: Apache-2.0

package files

import (
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// RequestDir describes a directory of requests.
type RequestDir struct {
	Dir      *dir.UntrustedDir // closed by Close
	Commands []string          // the commands that are served from it
	// Others returns the commands that other processes serve from the same directory now, or nil.
	Others func() []string
	// Cwd returns the directory of calls whose caller sends none.
	Cwd func() string
	// Allows reports whether requests may come from a user id. Files that were put there while the directory was
	// open to more users are still in it. Nil: every user id is allowed.
	Allows func(uid int) bool
	// Renew creates the directory again after it was deleted or replaced. It may be nil.
	Renew func() (RequestDir, error)
	// Repair writes deleted clients to the directory again. It may be nil.
	Repair func() error
}

// servedDir is a RequestDir with the state of its calls. It has many fields because each periodic check of the
// directory has a time of its own.
type servedDir struct {
	RequestDir
	// Used by the loop only:
	mod             time.Time            // time of the directory when it was last read
	read            time.Time            // when the directory was last read
	unfinished      map[string]time.Time // when requests that may be unfinished were first seen
	future          map[string]time.Time // when files with a time in the future were first seen
	renewTried      time.Time            // when renewing was last tried
	wait            time.Duration        // the pause after that attempt
	renewFailed     bool                 // the last try failed
	repairTried     time.Time            // when the directory was last checked for its clients
	heartbeatFailed bool                 // the last attempt to make .heartbeat failed

	mu             sync.Mutex // guards the fields below
	inFlight       map[string]*call
	heartbeatCalls int       // calls in flight whose callers touch .heartbeat
	heartbeatEnded time.Time // when the last of these ended
	retired        bool      // it takes no more requests
}

func newServedDir(p RequestDir) *servedDir {
	return &servedDir{RequestDir: p, wait: minRenewInterval, inFlight: map[string]*call{}, unfinished: map[string]time.Time{}, future: map[string]time.Time{}}
}

// start records that a call is in flight.
func (p *servedDir) start(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight[c.req.id] = c
	if c.req.heartbeat {
		p.heartbeatCalls++
	}
}

// finish calls last, which writes the last file of a call, and frees the call's id in one step. A caller that sees this
// file may use the id again at once.
func (p *servedDir) finish(c *call, last func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last()
	delete(p.inFlight, c.req.id)
	if c.req.heartbeat {
		p.heartbeatCalls--
		p.heartbeatEnded = time.Now()
	}
	p.closeIdleLocked()
}

func (p *servedDir) call(id string) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inFlight[id]
}

// isDir reports whether the name of a request is a directory. It stays there and must not delay others.
func (p *servedDir) isDir(name string) bool {
	e, err := p.Dir.Stat(name)
	return err == nil && e.Dir
}

// changed reports whether the directory has to be read. It has to be read if its time is new or recent, or if it was
// not read for long. It also has to be read if it has a request that may be unfinished.
func (p *servedDir) changed(now time.Time) bool {
	mod, err := p.Dir.ModTime()
	if err != nil {
		return false
	}
	recent := now.Sub(mod) < time.Second && now.After(mod)
	if mod.Equal(p.mod) && !recent && now.Sub(p.read) < maxReadInterval && len(p.unfinished) == 0 {
		return false
	}
	p.mod, p.read = mod, now
	return true
}

// retire closes the directory when the calls in flight have ended.
func (p *servedDir) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = true
	p.closeIdleLocked()
}

func (p *servedDir) closeIdleLocked() {
	if p.retired && len(p.inFlight) == 0 {
		_ = p.Dir.Close() // no data can be lost
	}
}
