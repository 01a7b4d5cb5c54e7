// SPDX-License-Identifier: Apache-2.0

// Package page serves the browser page on which the user answers requests of containers.
//
//	browser --token--> page --control.sock--> the watcher of each session
//	        <--events-      <----events-----
//
// The page makes no decisions. It shows the watchers' questions. It forwards an approval, or a denial with a digest,
// only if the question is still the one that was shown. It accepts only requests to its own origin and, except for
// public files and the exchange of a code, with a token. It listens on 127.0.0.1 only. There is one page per state
// directory.
package page

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Page is the page of one state directory. Set its fields, then call Listen, then Serve. Many of its methods are the
// handlers of its routes, so it has more methods than other types.
type Page struct {
	Store *state.Store

	// Open opens a link in a browser when a question arrives and no browser is connected. The link is empty after
	// several browsers did not connect, or if it cannot be stored for a browser; the user must then be notified in
	// another way. A page with Open always counts as an approver. Without Open, it counts only while a browser is
	// connected, and some seconds afterwards.
	Open func(link string) error

	// Idle is how long the page runs without sessions and browsers before it ends. Zero means forever.
	Idle time.Duration

	lock    *flock.Flock
	ln      net.Listener
	address Address
	tokens  tokens
	state   *pageState

	logging sync.Mutex // held while a log record is written
}

// The ports to try, in this order; then any free port.
const (
	firstPort = 9999
	ports     = 100
)

// ErrTaken means that another process serves this user's page. Find returns its address.
var ErrTaken = errors.New("another process serves the page")

// Listen takes this user's lock and a port. The error is ErrTaken if a page is running.
func (p *Page) Listen(ctx context.Context) (err error) {
	p.lock = state.NewLock(lockFile(p.Store))
	// A process that looks for a page holds the lock for a moment.
	lockCtx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if ok, err := p.lock.TryLockContext(lockCtx, 10*time.Millisecond); !ok {
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			err = ErrTaken
		}
		return err
	}
	defer func() {
		if err != nil {
			p.lock.Close()
		}
	}()
	if p.ln, err = listen(); err != nil {
		return fmt.Errorf("listen for a browser: %w", err)
	}
	p.address = Address{Origin: "http://" + p.ln.Addr().String(), Token: secret()}
	p.state = newPageState(p.Store, p.Open != nil)
	removeStale(p.Store)
	if err = p.address.save(p.Store); err != nil {
		p.ln.Close()
	}
	return err
}

func listen() (ln net.Listener, err error) {
	for port := firstPort; port < firstPort+ports; port++ {
		if ln, err = net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return ln, nil
		}
	}
	return net.Listen("tcp4", "127.0.0.1:0")
}

// secret returns an unguessable word.
func secret() string { return names.RandomHex(32) }

// URL returns the page's address with the token in the fragment, which a browser does not send.
func (p *Page) URL() string { return p.address.URL() }

// Serve serves the page until ctx is done or the page is idle.
func (p *Page) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	srv := &http.Server{
		// ErrorLog is for panics; requests are not logged.
		Handler: p.handler(), MaxHeaderBytes: 16 << 10, ErrorLog: log.New(os.Stderr, "hostexec: ", 0),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }, // ends the event streams
	}
	var wg sync.WaitGroup
	// Ends with ctx.
	wg.Go(func() { p.state.run(ctx) })
	// Ends with ctx, which it cancels when the page is idle.
	wg.Go(func() { p.openOrEnd(ctx, cancel) })
	// Ends with ctx; then Serve returns.
	wg.Go(func() { <-ctx.Done(); srv.Close() })
	err := srv.Serve(p.ln)
	cancel()
	wg.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	removeFiles(p.tokens.expire(time.Time{}))
	return errors.Join(err, os.Remove(addressFile(p.Store)), p.lock.Close())
}

// openOrEnd opens a browser when a question waits and no browser is connected. It ends the page when it is
// idle.
func (p *Page) openOrEnd(ctx context.Context, end context.CancelFunc) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	busy, opened, failedOpens := time.Now(), time.Time{}, 0
	for {
		changed := p.state.Changed()
		now := time.Now()
		removeFiles(p.tokens.expire(now))
		asks := len(p.state.questions()) > 0
		switch browsers := p.state.browsers(); {
		case browsers > 0 || asks || p.state.sessions() > 0:
			busy = now
			if browsers > 0 {
				failedOpens = 0
			}
			if asks && browsers == 0 && p.Open != nil && now.Sub(opened) > reopenDelay {
				opened = now
				p.openBrowser(failedOpens)
				failedOpens++
			}
		case p.Idle > 0 && now.Sub(busy) > p.Idle:
			end()
		}
		select {
		case <-tick.C:
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

const (
	reopenDelay    = 30 * time.Second // time for a browser to connect before another is started
	maxFailedOpens = 3                // browsers started in a row that did not connect
)

// openBrowser calls Open. After maxFailedOpens browsers that did not connect, the link is empty, so that no browser
// starts. Otherwise a container that keeps asking would start one every half a minute.
func (p *Page) openBrowser(failedOpens int) {
	link := ""
	if failedOpens < maxFailedOpens {
		var err error
		if link, err = p.File(); err != nil {
			p.warn(err.Error())
		}
	}
	_ = p.Open(link) // nobody reads an error; the watcher notifies the user in other ways, too
}
