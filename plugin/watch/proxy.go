// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
)

// A session without a container: its requests come by files, from whoever can write them.
// It lasts as long as docker hostexec proxy, and ends when that is told to, or is gone.

// proxy is what the watcher of such a session has of its own.
type proxy struct {
	files *carrier.Files
	asked chan struct{} // closed when it is told to end as soon as its calls have
}

// listen opens the listeners of the session's carriers.
func (w *Watcher) listen() ([]net.Listener, error) {
	if w.Record.Proxy == nil {
		return w.Carriers.Open()
	}
	w.Carriers.Decide(carrier.ByFiles, "it was asked for")
	ln, err := w.listenProxy()
	if err != nil {
		return nil, err
	}
	return []net.Listener{ln}, nil
}

// listenProxy takes the locks, makes the directories and serves what is in them.
func (w *Watcher) listenProxy() (net.Listener, error) {
	w.proxy = &proxy{asked: make(chan struct{})}
	w.dirs = &requestDirs{record: w.Record, log: w.log}
	if err := w.dirs.hold(); err != nil {
		return nil, err
	}
	places, err := w.dirs.open()
	if err == nil {
		err = w.setProxyState() // requests that are there already are heard at once
	}
	if err == nil {
		if at, ok := WritableNotifier(w.Questions.Notifier, w.Calls.Dirs()); ok {
			err = fmt.Errorf("whoever makes requests can change %s, which notify.command names: move it elsewhere", at)
		}
	}
	if err == nil {
		w.Record.Writable = w.Calls.Dirs().Sources()
		err = w.Record.Save()
	}
	if err == nil {
		w.proxy.files, err = carrier.ListenFiles(places, w.log, &w.Calls.Server.Limits)
	}
	if err == nil {
		// After the directory is watched: nobody can call before somebody listens.
		err = w.dirs.publish()
	}
	if err != nil {
		return nil, errors.Join(err, closePlaces(places), w.dirs.close())
	}
	return w.proxy.files, nil
}

// stay is follow for a session without a container. Calls in flight are waited for when it
// is told to end, and not when who has started it is gone.
func (w *Watcher) stay(ctx context.Context, link *watcherLink) error {
	defer w.proxy.files.Refuse() // before calls in flight are ended: they say why
	defer w.dirs.unpublish()
	notes := w.dirs.noted()
	for _, text := range notes {
		w.log.Warn(text)
	}
	for _, text := range w.Config.Supplied(w.Calls.Dirs()) {
		notes = append(notes, "warning: "+text)
	}
	link.warn(notes)
	link.ready()
	select {
	case line := <-link.lines:
		if line != "drain" {
			return ErrGone
		}
	case <-w.proxy.asked:
	case <-ctx.Done():
		return ErrGone
	}
	w.dirs.unpublish() // whoever looks for it finds it gone, and does not wait
	w.log.Info("draining", "grace", w.Record.Proxy.Grace)
	grace, cancel := context.WithTimeout(ctx, w.Record.Proxy.Grace)
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
	return ErrGone
}

// askToEnd has the session end when its calls have; a second time, at once.
func (w *Watcher) askToEnd(why error) {
	select {
	case <-w.proxy.asked:
		w.Life.Stop(why)
	default:
		w.proxy.files.Refuse()
		close(w.proxy.asked)
	}
}
