// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/carrier/files"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// A session without a container: its requests come by files, from whoever can write them.
// It lasts as long as docker hostexec proxy, and ends when that is told to, or is gone.

// proxy is what the watcher of such a session has of its own.
type proxy struct {
	files *files.Listener
	asked chan struct{} // closed when it is told to end as soon as its calls have

	base *dir.Base // below which the directories of requests are, however long this lasts

	mu    sync.Mutex                // guards the fields below
	dirs  map[string]*dir.SharedDir // by command; nil when the clients have been removed
	locks map[string]*state.ProxyLock
	notes []string // what was found before the start, for people
}

// listenProxy takes the locks, makes the directories and serves what is in them.
func (w *Watcher) listenProxy() (net.Listener, error) {
	if err := w.holdProxy(); err != nil {
		return nil, err
	}
	places, err := w.proxyPlaces()
	if err == nil {
		err = w.setProxyState() // requests that are there already are heard at once
	}
	if err == nil {
		if at, ok := w.notifierOf(w.dirs); ok {
			err = fmt.Errorf("whoever makes requests can change %s, which notify.command names: move it elsewhere", at)
		}
	}
	if err == nil {
		w.rec.Writable = w.dirs.Sources()
		err = w.save()
	}
	if err == nil {
		w.proxy.files, err = files.Listen(places, w.log, &w.server.Limits)
	}
	if err == nil {
		// After the directory is watched: nobody can call before somebody listens.
		w.proxy.mu.Lock()
		err = w.publishLocked(w.rec.Names())
		w.proxy.mu.Unlock()
	}
	if err != nil {
		return nil, errors.Join(err, closePlaces(places), w.unlock())
	}
	return w.proxy.files, nil
}

// holdProxy holds the directory below which the requests are, and notes which one it is.
func (w *Watcher) holdProxy() error {
	base, err := dir.OpenBase(w.rec.Proxy.Base)
	if err != nil {
		return err
	}
	w.proxy = &proxy{base: base, dirs: map[string]*dir.SharedDir{}, locks: map[string]*state.ProxyLock{}, asked: make(chan struct{})}
	w.rec.Proxy.Real = base.Real()
	w.rec.Proxy.Key, err = base.Key()
	return err
}

const pidSuffix = ".pid"

// publishLocked puts the clients of commands into their directories, and a PID file beside each.
func (w *Watcher) publishLocked(commands []string) error {
	client, number := fs.FileMode(0o700), fs.FileMode(0o600)
	if w.rec.Proxy.AnyUser {
		client, number = 0o755, 0o644
	}
	for _, name := range commands {
		box := w.proxy.dirs[name]
		c := files.Client{Command: name, Dir: box.Path(), Pass: w.rec.PassEnv}
		if err := box.Put(name, c.Script(), client); err != nil {
			return fmt.Errorf("write the client for %s: %w", name, err)
		}
		if err := box.Put(name+pidSuffix, []byte(strconv.Itoa(os.Getpid())+"\n"), number); err != nil {
			return fmt.Errorf("write the PID file of %s: %w", name, err)
		}
	}
	return nil
}

// unpublish removes the files that publishLocked has made.
func (w *Watcher) unpublish() {
	w.proxy.mu.Lock()
	defer w.proxy.mu.Unlock()
	for name, box := range w.proxy.dirs {
		box.Remove(name)
		box.Remove(name + pidSuffix)
	}
	w.proxy.dirs = nil // once: what has these names later is another one's
}

// stay is follow for a session without a container. Calls in flight are waited for when it
// is told to end, and not when who has started it is gone.
func (w *Watcher) stay(ctx context.Context, link *watcherLink) error {
	defer w.proxy.files.Refuse() // before calls in flight are ended: they say why
	defer w.unpublish()
	notes := w.proxy.noted()
	for _, text := range notes {
		w.log.Warn(text)
	}
	for _, text := range w.supplied(w.dirs) {
		notes = append(notes, "warning: "+text)
	}
	link.warn(notes)
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
		w.proxy.files.Refuse()
		close(w.proxy.asked)
	}
}
