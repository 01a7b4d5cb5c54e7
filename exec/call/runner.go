// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

var (
	errHostOnly     = errors.New("commands of this session run on the host only")
	errSandboxPrivs = errors.New("no program gains privileges in a sandbox: omit --allow-new-privs or where=sandbox")
	errPortPlace    = errors.New("--wait-for-port does not see ports of where=container: --wait-for-log waits for a line of its output")
	errShellPlace   = errors.New("where=container is not for shells with state: hostexec session create --in CONTAINER makes one in a container")
)

// findRunner finds the runner of dc, and builds its environment. A container gets only those variables of the host that
// the policy passes. It has its own PATH and HOME, and must not see secrets of the host. report gets texts if that
// takes long.
func (dc *decidedCall) findRunner(ctx context.Context, req *request, report func(string)) error {
	if req.shell != nil && dc.v.Place.InContainer() {
		return errShellPlace // a text runs in its existing shell
	}
	if req.shell != nil && req.shell.shell.In() != "" {
		for name, value := range dc.v.Env.Set {
			dc.env = append(dc.env, name+"="+value)
		}
		dc.notes = append(dc.notes, "it runs in the container "+req.shell.shell.In()+", not on the host")
		return nil
	}
	if dc.v.Place.Sandboxed {
		return dc.confine(ctx, req, report)
	}
	if !dc.v.Place.InContainer() {
		dc.runner = dc.server.Runner
		dc.env = environ(dc.config.hostEnviron, req.env, dc.config.PassEnv, dc.v.Env, dc.cwd.Path())
		return nil
	}
	if req.awaitsPort { // its processes may be on another machine, or belong to another user
		return errPortPlace
	}
	if dc.config.InContainer == nil {
		return errHostOnly
	}
	var at string
	var err error
	if dc.runner, at, err = dc.config.InContainer(dc.v.Place, req.Cwd, dc.copiesDir()); err != nil {
		return err
	}
	host := slices.DeleteFunc(slices.Clone(dc.server.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.Contains(dc.v.Env.Pass, name)
	})
	dc.env = environ(host, req.env, dc.config.PassEnv, dc.v.Env, at)
	note := "it runs in a fresh container of " + dc.v.Place.Image + ", not on the host"
	if limits := dc.v.Place.Limits(); limits != "" {
		note += " (" + limits + ")"
	}
	dc.notes = append(dc.notes, note)
	return nil
}

// confine finds the sandbox of dc, which runs on the host.
func (dc *decidedCall) confine(ctx context.Context, req *request, report func(string)) (err error) {
	var host []string
	v := dc.v
	v.Sandbox.Copies = dc.copiesDir()
	if dc.sandbox, host, err = dc.config.confine(ctx, &v, report); err != nil {
		return err
	}
	dc.runner = dc.server.Runner
	dc.env = environ(host, req.env, dc.config.PassEnv, dc.v.Env, dc.cwd.Path())
	dc.notes = append(dc.notes, strings.TrimSuffix("it runs in a sandbox on the host: "+dc.v.Sandbox.String(), ": "))
	return nil
}

// confine returns the sandbox of v, and the part of the host's environment that its command gets. The caller closes
// the sandbox.
func (sc *SessionConfig) confine(ctx context.Context, v *policy.Verdict, report func(string)) (*sandbox.Sandbox, []string, error) {
	switch {
	case sc.SandboxFor == nil:
		return nil, nil, sandbox.ErrUnsupported
	case sc.NewPrivs || v.NewPrivs:
		return nil, nil, errSandboxPrivs
	}
	return sc.SandboxFor(ctx, v, sc.Environ, report)
}
