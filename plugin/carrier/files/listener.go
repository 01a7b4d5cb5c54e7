// SPDX-License-Identifier: Apache-2.0

// Package files is the carrier that needs neither a socket nor an engine: callers put requests into a directory and
// find the answers there. docs/files.md has the protocol.
//
//	<id>.req   ->  a call, as frames over a pipe  ->  <id>.stdout, .stderr, then .exit
//
// Everything in such a directory is untrusted. A file is read once, if it is a regular file with one name, up to a size
// limit. Answers are written only to files that this process has made; only AnswerLost completes the files of a killed
// watcher.
package files

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
)

// Listener serves directories of requests. It is a net.Listener whose connections are the calls. The state of its loop
// and the state that all calls share make it large.
type Listener struct {
	log         *slog.Logger
	limits      *limit.Session
	path        string       // of the first directory, for messages
	dirs        []*servedDir // used by the loop, and by Close after that
	notify      *notifier    // nil: requests are found by polling alone
	eventsWork  bool         // notifications are known to arrive; used by the loop
	announced   bool         // a notification of a request has arrived; used by the loop
	swept       time.Time    // when old files were last removed; used by the loop
	missedSince time.Time    // when a request was found without an event; used by the loop

	*carrier.Queue
	draining chan struct{} // closed by Drain
	drain    sync.Once
	closing  sync.Once
	loop     sync.WaitGroup
	flight   sync.WaitGroup // calls
	load     *load
	reserve  reserve // space for the ends of calls on a full disk
}

// Listen serves present and later requests in dirs. The size of their answers on the disk counts for
// limits. Close ends it.
func Listen(dirs []RequestDir, log *slog.Logger, limits *limit.Session) (*Listener, error) {
	l := &Listener{
		log: log, limits: limits, path: dirs[0].Dir.Path(), Queue: carrier.NewQueue(carrier.Addr{Carrier: "files", Listener: dirs[0].Dir.Path()}), draining: make(chan struct{}), load: newLoad(),
	}
	for _, p := range dirs {
		l.dirs = append(l.dirs, newServedDir(p))
	}
	l.watch() // before the first scan, so that no request is missed
	for _, p := range l.dirs {
		p.sweep(time.Now())
		l.createHeartbeat(p)
	}
	// ends when the queue is closed; Close waits for it.
	l.loop.Go(l.run)
	return l, nil
}

// Refuse refuses new requests. A call that the host ends afterwards reports that the proxy is shutting down.
func (l *Listener) Refuse() { l.drain.Do(func() { close(l.draining) }) }

// Drain refuses requests from now on. It returns when no call is in flight, or when until is closed.
func (l *Listener) Drain(until <-chan struct{}) {
	l.Refuse()
	idle := make(chan struct{})
	// ends with the calls, which end at the latest with the server that accepted them.
	go func() {
		l.flight.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-until:
	}
}

// Close accepts no more calls, and returns when the accepted calls have their answers. Their server must end them.
func (l *Listener) Close() error {
	var err error
	l.closing.Do(func() {
		l.Refuse()
		_ = l.Queue.Close() // it does not fail
		l.loop.Wait()
		l.flight.Wait()
		if l.notify != nil {
			err = l.notify.Close()
		}
		l.reserve.release()
		for _, p := range l.dirs {
			if p.Others == nil || len(p.Others()) == 0 {
				_ = p.Dir.Remove(heartbeat) // a caller may have removed it
			}
			err = errors.Join(err, p.Dir.Close())
		}
	})
	return err
}

// refusing reports whether requests are refused.
func (l *Listener) refusing() bool {
	select {
	case <-l.draining:
		return true
	default:
		return false
	}
}

// take begins the call of the request id, and reports whether it did. Otherwise the request is refused, or stays for
// another process or for later.
func (l *Listener) take(p *servedDir, id string) bool {
	if !l.load.enter() {
		return false
	}
	req, ok := l.readRequest(p, id)
	if !ok {
		l.load.abandon()
		return false
	}
	c := newCall(p, req)
	p.start(c)
	// ends with the call, or when the queue is closed.
	l.flight.Go(func() {
		defer l.load.leave()
		c.serve(l)
	})
	return true
}
