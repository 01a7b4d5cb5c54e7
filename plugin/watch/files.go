// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"net"
	"os"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/carrier/files"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// listen opens the road of a session whose calls are files.
func (w *Watcher) listen() (net.Listener, error) {
	if w.rec.Proxy != nil {
		return w.listenProxy()
	}
	return w.listenFiles()
}

// listenFiles serves requests from the directory that the container has for them. As long
// as it does, share/carrier is there: a client without an answer looks for it.
func (w *Watcher) listenFiles() (net.Listener, error) {
	var places []files.RequestDir
	for _, name := range append(w.rec.Linked(), shimName) {
		// Any user of the container, and none of this host: the session's folder is private.
		box, err := dir.MakeSharedDir(w.Dir, filepath.Join(filepath.Base(state.ProxyDir(w.Dir)), name), dir.ForEveryone)
		if err != nil {
			return nil, errors.Join(err, closePlaces(places))
		}
		places = append(places, files.RequestDir{Dir: box, Commands: []string{name}, Cwd: w.workdir})
	}
	w.files = true
	ln, err := files.Listen(places, w.log, &w.server.Limits)
	if err != nil {
		return nil, errors.Join(err, closePlaces(places))
	}
	mark := filepath.Join(state.ShareDir(w.Dir), carrier.File)
	if err := carrier.Decide(state.ShareDir(w.Dir), carrier.ByFiles); err != nil { // which follows no link
		return nil, errors.Join(err, ln.Close())
	}
	return &marked{ln, mark}, nil
}

const shimName = "hostexec"

// marked is a listener that removes a file when it is closed.
type marked struct {
	*files.Listener
	mark string
}

func (m *marked) Close() error { return errors.Join(os.Remove(m.mark), m.Listener.Close()) }

func closePlaces(places []files.RequestDir) error {
	var errs []error
	for _, p := range places {
		errs = append(errs, p.Dir.Close())
	}
	return errors.Join(errs...)
}

// workdir is the working directory of the container, for callers that do not say theirs.
func (w *Watcher) workdir() string {
	if at := w.containerDir.Load(); at != nil {
		return *at
	}
	return "/"
}
