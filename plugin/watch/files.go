// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
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
	var places []carrier.Place
	for _, name := range append(w.rec.Names(), shimName) {
		box, err := dir.MakeBox(w.Dir, filepath.Join(filepath.Base(state.ProxyDir(w.Dir)), name))
		if err != nil {
			return nil, errors.Join(err, closePlaces(places))
		}
		places = append(places, carrier.Place{Box: box, Commands: []string{name}, Cwd: w.workdir})
	}
	ln, err := carrier.ListenFiles(places, w.log)
	if err != nil {
		return nil, errors.Join(err, closePlaces(places))
	}
	mark := filepath.Join(state.ShareDir(w.Dir), carrier.File)
	if err := os.WriteFile(mark, []byte(carrier.ByFiles+"\n"), 0o644); err != nil {
		return nil, errors.Join(fmt.Errorf("write carrier file: %w", err), ln.Close())
	}
	return &marked{ln, mark}, nil
}

const shimName = "hostexec"

// marked is a listener that removes a file when it is closed.
type marked struct {
	*carrier.Files
	mark string
}

func (m *marked) Close() error { return errors.Join(os.Remove(m.mark), m.Files.Close()) }

func closePlaces(places []carrier.Place) error {
	var errs []error
	for _, p := range places {
		errs = append(errs, p.Box.Close())
	}
	return errors.Join(errs...)
}

// workdir is the working directory of the container, for callers that do not say theirs.
func (w *Watcher) workdir() string {
	if at := w.home.Load(); at != nil {
		return *at
	}
	return "/"
}
