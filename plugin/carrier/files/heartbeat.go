// SPDX-License-Identifier: Apache-2.0

package files

import (
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// A caller shows that it is alive by changing a file each second: <id>.alive for one call, or .heartbeat, which
// swe-swe's clients share. The caller controls both files, so they are hints: they can only end the caller's own calls.
// Only changes count, by the host's clock: the caller's clock may differ.

const (
	// heartbeat is the file that all callers of a directory share.
	heartbeat = ".heartbeat"
	// aliveTimeout is the maximum time between changes of <id>.alive. It is long enough for a busy machine.
	aliveTimeout = 15 * time.Second
	// heartbeatTimeout is the maximum time between changes of .heartbeat.
	heartbeatTimeout = 4 * time.Second
	// heartbeatLead is the maximum time between a touch of .heartbeat and a later request of the same caller.
	heartbeatLead = 1500 * time.Millisecond
)

// changingFile is a file that a caller changes each second.
type changingFile struct {
	name    string
	max     time.Duration // the maximum time between changes
	active  bool          // the caller changes it
	version string
	changed time.Time // when a change was last seen
}

// missed reports whether the caller changed the file before and has stopped.
func (p *changingFile) missed(requests *dir.UntrustedDir, now time.Time) bool {
	if e, err := requests.Stat(p.name); err == nil && e.Version() != p.version {
		p.version, p.changed, p.active = e.Version(), now, true
	}
	return p.active && now.Sub(p.changed) > p.max
}

// createHeartbeat makes .heartbeat in a directory, unless it exists. Calls need no such file, so a failure ends nothing.
func (l *Listener) createHeartbeat(p *servedDir) {
	err := p.putHeartbeat()
	if err != nil && !p.heartbeatFailed {
		l.log.Warn("callers cannot share "+heartbeat, "directory", p.Dir.Path(), "error", err)
	}
	p.heartbeatFailed = err != nil
}

// putHeartbeat makes .heartbeat writable for every user: callers with several user ids share it. The time 1970
// means that no caller has touched it yet.
func (p *servedDir) putHeartbeat() error {
	if e, err := p.Dir.Stat(heartbeat); err == nil && e.Regular && e.Mode == 0o666 {
		return nil
	}
	return p.Dir.PutAt(heartbeat, nil, 0o666, time.Unix(0, 0))
}

// hasHeartbeat reports whether the caller of a request touches .heartbeat. swe-swe's client touches it between
// writing and renaming its request. If no other call in flight touches the file, or did so lately, a touch shortly
// before the request counts, too.
func (p *servedDir) hasHeartbeat(request dir.Entry, now time.Time) bool {
	e, err := p.Dir.Stat(heartbeat)
	if err != nil || !e.Regular || e.Mod.Unix() == 0 {
		return false
	}
	earliest := request.Mod
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heartbeatCalls == 0 && now.Sub(p.heartbeatEnded) > heartbeatLead {
		earliest = earliest.Add(-heartbeatLead)
	}
	return !e.Mod.Before(earliest)
}
