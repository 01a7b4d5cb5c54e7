// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/carrier/http"
	"github.com/docker-hostexec/hostexec/plugin/carrier/relay"
	"github.com/docker-hostexec/hostexec/plugin/carrier/socket"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Carriers are the ways by which calls reach the session.
type Carriers struct {
	ByFiles         bool            // calls arrive as files in directories of the session's directory
	Relay           *relay.Listener // nil: the session cannot use a relay
	Connected       chan struct{}   // closed after the socket's first connection
	HTTPUnreachable string          // the reason why no calls arrive over HTTP, or ""

	record *Record
	calls  *Calls
	life   *Lifetime
	log    *slog.Logger
	choice atomic.Pointer[Choice]
	http   *http.Listener // nil: HTTP was not asked for
}

// Choice is a word of package carrier, and the reason for it. The word may say that no carrier is chosen yet. With auto
// and a shared directory, a test chooses: a connection at the session's socket proves that sockets work across the
// mount. A relay that is ready but could not reach the socket shows that they do not.
type Choice struct{ Carrier, Why string }

// Choice returns the carrier that is in use. Each Decide stores a new Choice, so the pointer shows whether Decide was
// called since.
func (c *Carriers) Choice() *Choice { return c.choice.Load() }

// Open opens the listeners of the session's carriers.
func (c *Carriers) Open() ([]net.Listener, error) {
	others, err := c.openOtherListeners() // first: Bind changes the umask, and no goroutine creates files yet
	if err != nil {
		return nil, err
	}
	listeners, err := c.openShimListeners()
	if err != nil {
		return nil, errors.Join(err, closeAll(others))
	}
	return append(others, listeners...), nil
}

// openShimListeners opens the listeners for the calls of shims.
func (c *Carriers) openShimListeners() (listeners []net.Listener, err error) {
	if c.record.Session().Carrier == carrier.ByFiles {
		c.Decide(carrier.ByFiles, "it was asked for")
		ln, err := c.listenFiles()
		if err != nil {
			return nil, err
		}
		return []net.Listener{ln}, nil
	}
	share := state.ShareDir(c.record.Dir)
	known := c.record.Store.Engine(c.record.Session().Engine)
	initial := Choice{carrier.Undecided, "nothing has come from the container yet"}
	switch {
	case c.record.Session().Carrier == carrier.BySocket:
		initial = Choice{carrier.BySocket, "it was asked for"}
	case c.record.Session().Carrier == carrier.ByRelay:
		initial.Why = "a relay was asked for, and is not up yet"
	case known.Carrier == carrier.BySocket && !c.record.Session().RemoteFiles:
		initial = Choice{carrier.BySocket, "it was proven with this engine before"}
	}
	var nonce string
	if c.shared() {
		if nonce, err = relay.WriteNonce(share); err != nil {
			return nil, err
		}
	}
	c.Decide(initial.Carrier, initial.Why)
	c.Connected = make(chan struct{})
	if c.record.Session().Carrier != carrier.ByRelay {
		ln, err := socket.Listen(share)
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, &firstConnListener{Listener: ln, accepted: c.Connected})
	}
	if c.record.Session().Relay {
		c.Relay = relay.New(nonce)
		listeners = append(listeners, c.Relay)
	}
	return listeners, nil
}

// shared reports whether the container has the session's share, and not a copy.
func (c *Carriers) shared() bool {
	rec := c.record.Session()
	return !rec.RemoteFiles && !rec.Attached
}

// firstConnListener is a listener that reports its first connection.
type firstConnListener struct {
	net.Listener
	once     sync.Once
	accepted chan struct{}
}

func (l *firstConnListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.once.Do(func() { close(l.accepted) })
	}
	return c, err
}

// Decide stores the carrier of calls, with the reason, for the shims and for status.
func (c *Carriers) Decide(name, why string) {
	r := Choice{name, why}
	old := c.choice.Swap(&r)
	if old != nil && *old == r {
		return
	}
	c.log.Info("chose a carrier", "carrier", r.Carrier, "reason", r.Why)
	if !c.shared() || c.record.Session().Carrier == carrier.ByFiles {
		return // the copy in the container says relay from the start, or listenFiles creates the file
	}
	if err := carrier.Decide(state.ShareDir(c.record.Dir), r.Carrier); err != nil {
		c.log.Error("name the carrier in the share", "error", err)
	}
}
