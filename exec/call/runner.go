// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

var (
	errHostOnly     = errors.New("commands of this session run on the host only")
	errSandboxPrivs = errors.New("no program gains privileges in a sandbox: omit --allow-new-privs or where=sandbox")
	errShellPlace   = errors.New("where=container is not for shells with state: hostexec session create --in CONTAINER makes one in a container")
)

// findRunner finds the runner of w, and builds its environment. A container gets only those variables of the host that
// the policy passes. It has its own PATH and HOME, and must not see secrets of the host. report gets texts if that
// takes long.
func (w *decidedCall) findRunner(req *request, report func(string)) error {
	if req.shell != nil && w.v.Place.Contained() {
		return errShellPlace // runText runs it in the existing shell
	}
	if req.shell != nil && req.shell.shell.In() != "" {
		for name, value := range w.v.Env.Set {
			w.env = append(w.env, name+"="+value)
		}
		w.notes = append(w.notes, "it runs in the container "+req.shell.shell.In()+", not on the host")
		return nil
	}
	if w.v.Place.Sandboxed {
		return w.confine(req, report)
	}
	if !w.v.Place.Contained() {
		w.runner = w.server.Runner
		w.env = environ(w.state.hostEnviron, req.env, w.state.PassEnv, w.v.Env, w.cwd.Path())
		return nil
	}
	if w.state.InContainer == nil {
		return errHostOnly
	}
	var at string
	var err error
	if w.runner, at, err = w.state.InContainer(w.v.Place, req.Cwd, w.copiesDir()); err != nil {
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
func (w *decidedCall) confine(req *request, report func(string)) (err error) {
	var host []string
	v := w.v
	v.Sandbox.Copies = w.copiesDir()
	if w.sandbox, host, err = w.state.confine(&v, report); err != nil {
		return err
	}
	w.runner = w.server.Runner
	w.env = environ(host, req.env, w.state.PassEnv, w.v.Env, w.cwd.Path())
	w.notes = append(w.notes, strings.TrimSuffix("it runs in a sandbox on the host: "+w.v.Sandbox.String(), ": "))
	return nil
}

// confine returns the sandbox of v, and the part of the host's environment that its command gets. The caller closes
// the sandbox.
func (sc *SessionState) confine(v *policy.Verdict, report func(string)) (*sandbox.Sandbox, []string, error) {
	switch {
	case sc.SandboxFor == nil:
		return nil, nil, sandbox.ErrUnsupported
	case sc.NewPrivs || v.NewPrivs:
		return nil, nil, errSandboxPrivs
	}
	return sc.SandboxFor(v, sc.Environ, report)
}
