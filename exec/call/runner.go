// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

var (
	errNoElsewhere  = errors.New("no command runs anywhere but on the host here")
	errSandboxPrivs = errors.New("no program gains privileges in a sandbox: leave --allow-new-privs away, or where=sandbox")
	errPlaced       = errors.New("where and container are not of shells with state, which live on")
)

// findRunner finds what runs w, and builds its environment. A container gets no environment of the host
// except what the policy passes: it has its own PATH and HOME, and must not see secrets of the host.
func (w *authorizedCall) findRunner(req *request) error {
	if req.shell != nil && w.v.Place.Confined() {
		return errPlaced // runText runs it in the existing shell
	}
	if req.shell != nil && req.shell.shell.In() != "" {
		for name, value := range w.v.Env.Set {
			w.env = append(w.env, name+"="+value)
		}
		w.notes = append(w.notes, "it runs in the container "+req.shell.shell.In()+", not on the host")
		return nil
	}
	if w.v.Place.Sandboxed {
		return w.confine(req)
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

// confine finds the sandbox of w, which runs on the host.
func (w *authorizedCall) confine(req *request) (err error) {
	if w.state.Confined == nil {
		return sandbox.ErrUnsupported
	}
	if w.state.NewPrivs || w.v.NewPrivs {
		return errSandboxPrivs
	}
	var host []string
	if w.sandbox, host, err = w.state.Confined(w.v, w.state.Environ); err != nil {
		return err
	}
	w.runner = w.server.Runner
	w.env = environ(host, req.env, w.state.PassEnv, w.v.Env, w.cwd.Path())
	w.notes = append(w.notes, strings.TrimSuffix("it runs in a sandbox on the host: "+w.v.Sandbox.String(), ": "))
	return nil
}
