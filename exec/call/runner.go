// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"slices"
	"strings"
)

var (
	errNoElsewhere = errors.New("no command runs anywhere but on the host here")
	errPlaced      = errors.New("where and container are not of shells with state, which live on")
)

// findRunner finds what runs w, and builds its environment. A container gets no environment of the host
// except what the policy passes: it has its own PATH and HOME, and must not see secrets of the host.
func (w *authorizedCall) findRunner(req *request) error {
	if req.shell != nil && w.v.Place.Contained() {
		return errPlaced // runText runs it in the existing shell
	}
	if req.shell != nil && req.shell.shell.In() != "" {
		for name, value := range w.v.Env.Set {
			w.env = append(w.env, name+"="+value)
		}
		w.notes = append(w.notes, "it runs in the container "+req.shell.shell.In()+", not on the host")
		return nil
	}
	if !w.v.Place.Contained() {
		w.runner = w.server.Runner
		w.env = environ(w.state.Environ, req.env, w.state.PassEnv, w.v.Env, w.cwd.Path())
		return nil
	}
	if w.state.Elsewhere == nil {
		return errNoElsewhere
	}
	copies := ""
	if w.copies != nil {
		copies = w.copies.dir
	}
	var at string
	var err error
	if w.runner, at, err = w.state.Elsewhere(w.v.Place, req.Cwd, copies); err != nil {
		return err
	}
	host := slices.DeleteFunc(slices.Clone(w.server.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.Contains(w.v.Env.Pass, name)
	})
	w.env = environ(host, req.env, w.state.PassEnv, w.v.Env, at)
	note := "it runs in a fresh container of " + w.v.Place.Image + ", not on the host"
	if limits := w.v.Place.Limits(); limits != "" {
		note += " (" + limits + ")"
	}
	w.notes = append(w.notes, note)
	return nil
}
