// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net"
	"slices"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A caller may take no output, for example because less shows the first page. A call that is being ended, by a person
// or a time limit, does not wait for such a caller: the output that it accepts is sent, and the rest is dropped. The
// caller gets the end of its call when it reads on.

// expire makes writes of output fail soon if the caller takes none, because its call is being ended.
func (p *peer) expire() {
	p.out.Expire()
	p.sending.expire(p)
}

// sendTime is the time limit for a frame to a caller whose call is being ended.
const sendTime = 5 * time.Second

// sendLimit limits the time of sending a frame, once the call is being ended.
type sendLimit struct {
	mu       sync.Mutex // guards the fields below
	expiring bool
	sending  bool
	late     *time.Timer // hangs up if the connection ignores its deadline; nil: the frame has no limit
}

// begin notes that p sends a frame.
func (s *sendLimit) begin(p *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending = true
	if s.expiring {
		s.limitLocked(p)
	}
}

// end notes that the frame was sent, or not.
func (s *sendLimit) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending = false
	if s.late != nil {
		s.late.Stop()
		s.late = nil
	}
}

// expire limits the time of the frame that p is sending, if any, and of all later ones.
func (s *sendLimit) expire(p *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sending && !s.expiring {
		s.limitLocked(p)
	}
	s.expiring = true
}

// limitLocked limits the time of a frame. A relay has no deadlines. It always reads, unless it is broken.
func (s *sendLimit) limitLocked(p *peer) {
	p.conn.SetWriteDeadline(time.Now().Add(sendTime))
	s.late = time.AfterFunc(2*sendTime, p.hangUp)
}

// keepUnsent keeps the rest of a frame that was not sent in time. Later frames except Exit are dropped. The caller
// holds mu.
func (p *peer) keepUnsent(kind wire.Kind, rest net.Buffers) {
	p.unsent = slices.Concat(rest...)
	p.unsentExit = kind == wire.KindExit
}

// maxUnread is the maximum number of callers in a session that have not read the end of their call in time.
const maxUnread = 64

// unreadEnds holds the callers that have not read the end of their call in time. Their calls are over, and count
// towards no limit. So a container could make any number of such connections.
type unreadEnds struct {
	mu    sync.Mutex // guards the field below
	peers []*peer    // the longest wait first
}

// deliver waits until p has read the end of its call, if that was not sent in time. Beyond maxUnread such callers, it
// hangs up on the one that waits longest.
func (u *unreadEnds) deliver(p *peer) {
	p.mu.Lock()
	unread := p.unsentExit
	p.mu.Unlock()
	if !unread {
		return
	}
	u.mu.Lock()
	u.peers = append(u.peers, p)
	if len(u.peers) > maxUnread {
		u.peers[0].hangUp()
		u.peers = slices.Delete(u.peers, 0, 1)
	}
	u.mu.Unlock()
	p.sendUnsent()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.peers = slices.DeleteFunc(u.peers, func(other *peer) bool { return other == p })
}

// sendUnsent sends what keepUnsent has kept. It waits until the caller has read it, or has left.
func (p *peer) sendUnsent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn.SetWriteDeadline(time.Time{})
	p.conn.Write(p.unsent)
	p.unsent = nil
}
