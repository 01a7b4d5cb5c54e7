// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"slices"
	"strings"
)

var (
	errNoContainers = errors.New("no command runs anywhere but on the host here")
	errPlaced       = errors.New("where and container are not of shells with state, which live on")
)

// findRunner finds what runs w, and builds the environment that it has there. A container gets
// nothing of the host's but what the policy passes: it has a PATH and a HOME of its own,
// and what the host's secrets are for is not to run there.
func (s *Server) findRunner(req *request, w *authorizedCall) error {
	if req.shell != nil && w.v.Place.Contained() {
		return errPlaced // inShell runs it in the shell that there is
	}
	if req.shell != nil && req.shell.shell.In() != "" {
		for name, value := range w.v.Env.Set {
			w.env = append(w.env, name+"="+value)
		}
		w.notes = append(w.notes, "it runs in the container "+req.shell.shell.In()+", not on the host")
		return nil
	}
	if !w.v.Place.Contained() {
		w.runner = s.Runner
		w.env = environ(w.state.Environ, req.env, w.state.PassEnv, w.v.Env, w.cwd.Path())
		return nil
	}
	if w.state.Elsewhere == nil {
		return errNoContainers
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
	host := slices.DeleteFunc(slices.Clone(s.Environ), func(kv string) bool {
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
