// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// A session without a container: its requests come by files, from whoever can write them.
// It lasts as long as docker hostexec proxy, and ends when that is told to, or is gone.

// proxy is what the watcher of such a session has of its own.
type proxy struct {
	files *carrier.Files
	boxes map[string]*dir.Box // by command
	locks []*state.ProxyLock
	stale []string // what was found of others before us, for people

	asked chan struct{} // closed when it is told to end as soon as its calls have
}

// listenProxy takes the locks, makes the directories and serves what is in them.
func (w *Watcher) listenProxy() (net.Listener, error) {
	w.proxy = &proxy{boxes: map[string]*dir.Box{}, asked: make(chan struct{})}
	places, err := w.proxyPlaces()
	if err == nil {
		err = w.setProxyScene() // requests that are there already are heard at once
	}
	if err == nil {
		w.proxy.files, err = carrier.ListenFiles(places, w.log)
	}
	if err == nil {
		// After the directory is watched: nobody can call before somebody listens.
		err = w.publish()
	}
	if err != nil {
		return nil, errors.Join(err, closePlaces(places), w.unlock())
	}
	return w.proxy.files, nil
}

// proxyPlaces returns the directories of requests, whose locks it takes.
func (w *Watcher) proxyPlaces() (places []carrier.Place, err error) {
	mine := map[string]bool{}
	for _, name := range w.rec.Names() {
		mine[name] = true
	}
	for i, name := range w.rec.Names() {
		var box *dir.Box
		if w.rec.Proxy.Flat && i > 0 {
			box = places[0].Box
		} else {
			_, rest := w.rec.Proxy.Dir(name)
			if box, err = dir.MakeBox(w.rec.Proxy.Base, rest); err != nil {
				return places, err
			}
			places = append(places, carrier.Place{Box: box, Cwd: func() string { return w.rec.InvokedIn }})
		}
		p := &places[len(places)-1]
		p.Commands = append(p.Commands, name)
		key, err := box.Key()
		if err != nil {
			return places, err
		}
		if w.rec.Proxy.Flat {
			p.Others = func() []string { return w.store.Proxied(key, mine) }
		}
		if err := w.lock(box, key, name); err != nil {
			return places, err
		}
	}
	return places, nil
}

// lock makes name ours in box, and says whose number is there still.
func (w *Watcher) lock(box *dir.Box, key, name string) error {
	l, err := w.store.LockProxy(key, name)
	if err != nil {
		return err
	}
	w.proxy.locks = append(w.proxy.locks, l)
	w.proxy.boxes[name] = box
	text, _, err := box.Read(name+pidSuffix, 32)
	if err != nil {
		return l.Sign() // it is not there, or nobody wrote it who means well
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 0 {
		why := "no longer running"
		if pid != l.Was() && state.ProcessAlive(pid) {
			why = "is another process"
			if box.HeldBy(pid) { // one of another HOSTEXEC_HOME, which has locks of its own
				return &state.ProxyRunning{Command: name, PID: pid}
			}
		}
		w.proxy.stale = append(w.proxy.stale, fmt.Sprintf("removing stale PID file (PID %d %s)", pid, why))
	}
	return l.Sign()
}

const pidSuffix = ".pid"

// publish puts the clients into the directories, and our number beside them.
func (w *Watcher) publish() error {
	for name, box := range w.proxy.boxes {
		c := carrier.Client{Command: name, Dir: box.Path(), Pass: w.rec.PassEnv}
		if err := box.Put(name, c.Script(), 0o755); err != nil {
			return fmt.Errorf("write the client for %s: %w", name, err)
		}
		if err := box.Put(name+pidSuffix, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
			return fmt.Errorf("write the PID file of %s: %w", name, err)
		}
	}
	return nil
}

// unpublish takes back what publish has made.
func (w *Watcher) unpublish() {
	for name, box := range w.proxy.boxes {
		box.Remove(name)
		box.Remove(name + pidSuffix)
	}
	w.proxy.boxes = nil // once: what has these names later is another one's
}

func (w *Watcher) unlock() error {
	var errs []error
	for _, l := range w.proxy.locks {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// stay is follow for a session without a container. Calls in flight are waited for when it
// is told to end, and not when who has started it is gone.
func (w *Watcher) stay(ctx context.Context, link *uplink) error {
	defer w.unpublish()
	for _, text := range w.proxy.stale {
		w.log.Warn(text)
	}
	link.warn(w.proxy.stale)
	link.ready()
	select {
	case line := <-link.lines:
		if line != "drain" {
			return errGone
		}
	case <-w.proxy.asked:
	case <-ctx.Done():
		return errGone
	}
	w.unpublish() // whoever looks for it finds it gone, and does not wait
	w.log.Info("draining", "grace", w.rec.Proxy.Grace)
	grace, cancel := context.WithTimeout(ctx, w.rec.Proxy.Grace)
	defer cancel()
	// ends when run's end of the link is closed, or with grace.
	w.wg.Go(func() {
		select {
		case <-link.lines:
			cancel()
		case <-grace.Done():
		}
	})
	w.proxy.files.Drain(grace.Done())
	return errGone
}

// askToEnd has the session end when its calls have; a second time, at once.
func (w *Watcher) askToEnd(why error) {
	select {
	case <-w.proxy.asked:
		w.stop(why)
	default:
		close(w.proxy.asked)
	}
}
