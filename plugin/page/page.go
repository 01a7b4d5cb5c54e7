// SPDX-License-Identifier: Apache-2.0

// Package page is the page in the browser on which a person answers what containers ask.
//
//	browser --token--> page --control.sock--> the watcher of each session
//	        <--events-      <----events-----
//
// Its one law: it decides nothing. It shows what watchers ask, hands on an answer to
// exactly what was shown, and hears only whoever has its token, at the one origin that it
// is. It listens on 127.0.0.1 and nowhere else; there is one for each user.
package page

import (
	"context"
	"crypto/rand"
	"encoding/hex"
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

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Page is one user's page. Set its fields, then Listen, then Serve.
type Page struct {
	Store *state.Store

	// Open has a browser open a link, when a question comes and no browser is there. The link
	// is empty when no browser has come up for several: then the person has to be told otherwise.
	// A page that has Open can always ask; without it somebody has to have the page open.
	Open func(link string) error

	// Idle is for how long there may be neither a session nor a browser before the page
	// ends by itself. Zero is for ever.
	Idle time.Duration

	lock  *flock.Flock
	ln    net.Listener
	place Place
	keys  keys
	board *board

	logging sync.Mutex // held while something is logged
}

// The ports that are tried, in this order; then any.
const (
	firstPort = 9999
	ports     = 100
)

// ErrTaken says that another process serves this user's page: Find finds it.
var ErrTaken = errors.New("another process serves the page")

// Listen takes this user's lock and a port. The error is ErrTaken when there is a page.
func (p *Page) Listen(ctx context.Context) (err error) {
	p.lock = flock.New(lockFile(p.Store))
	// Who looks for a page holds the lock for a moment.
	patience, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if ok, err := p.lock.TryLockContext(patience, 10*time.Millisecond); !ok {
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
	p.place = Place{Origin: "http://" + p.ln.Addr().String(), Token: secret()}
	p.board = newBoard(p.Store, p.Open != nil)
	removeStale(p.Store)
	if err = p.place.save(p.Store); err != nil {
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

// secret is 32 bytes that nobody guesses, in hex.
func secret() string {
	var b [32]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// URL is the page's address with the token, which a browser does not send.
func (p *Page) URL() string { return p.place.URL() }

// Serve serves the page until ctx is done, or it has been idle for long enough.
func (p *Page) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	srv := &http.Server{
		Handler: p.handler(), MaxHeaderBytes: 16 << 10, ErrorLog: log.New(os.Stderr, "hostexec: ", 0), // of panics: requests are not logged
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }, // who listens to events would listen for ever
	}
	var wg sync.WaitGroup
	// ends with ctx.
	wg.Go(func() { p.board.run(ctx) })
	// ends with ctx, which it cancels when the page is idle.
	wg.Go(func() { p.attend(ctx, cancel) })
	// ends with ctx; then Serve returns.
	wg.Go(func() { <-ctx.Done(); srv.Close() })
	err := srv.Serve(p.ln)
	cancel()
	wg.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	removeFiles(p.keys.expire(time.Time{}))
	return errors.Join(err, os.Remove(placeFile(p.Store)), p.lock.Close())
}

// attend opens a browser when a question comes and none is there, and ends the page when
// it is idle.
func (p *Page) attend(ctx context.Context, end context.CancelFunc) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	busy, opened, fruitless := time.Now(), time.Time{}, 0
	for {
		changed := p.board.Changed()
		now := time.Now()
		removeFiles(p.keys.expire(now))
		asks := len(p.board.questions()) > 0
		switch browsers := p.board.browsers(); {
		case browsers > 0 || asks || p.board.sessions() > 0:
			busy = now
			if browsers > 0 {
				fruitless = 0
			}
			if asks && browsers == 0 && p.Open != nil && now.Sub(opened) > reopen {
				opened = now
				p.summon(fruitless)
				fruitless++
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
	reopen       = 30 * time.Second // which a browser has to come up, before another is started
	maxFruitless = 3                // browsers that are started and do not come up
)

// summon starts a browser, unless those that were started before have not come up: a container
// that keeps asking would start one every half a minute.
func (p *Page) summon(fruitless int) {
	link := ""
	if fruitless < maxFruitless {
		var err error
		if link, err = p.File(); err != nil {
			p.warn(err.Error())
		}
	}
	_ = p.Open(link) // nobody is there to be told; the terminal's bell has rung
}
