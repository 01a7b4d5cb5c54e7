// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"maps"
	"net"
	"slices"

	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Additions are what a session adds to its container. run applies them to docker's structs, the API proxy to the
// JSON of a request.
type Additions struct {
	Env        []string // the whole environment, with a changed PATH
	Labels     map[string]string
	Mounts     []mount.Mount
	ExtraHosts []string
	WorkingDir string // "": unchanged
}

// additions returns the session's additions to want. path is the container's PATH without the session.
func (l *Launch) additions(want Creation, path string) Additions {
	a := Additions{Env: inject.Env(want.Config.Env, path, len(l.Plan.Record.RuleCommands) > 0), Labels: inject.Labels(&l.Plan.Record)}
	if l.http.Address != "" {
		a.Env = l.http.Env(l.imageEnv, a.Env)
	}
	if l.http.Guardian != "" {
		addr, _, _ := net.SplitHostPort(l.http.Address)
		a.ExtraHosts = []string{l.http.Guardian + ":" + addr}
	}
	share := inject.ShareMount(state.ShareDir(l.Dir))
	if l.volume != "" {
		share = inject.VolumeMount(l.volume, true)
	}
	a.Mounts = l.Plan.Mounts(l.Dir, share)
	if l.Plan.Workspace != "" && !l.Plan.HasWorkdir {
		a.WorkingDir = l.Plan.Workspace
	}
	return a
}

// Mounts returns the mounts that a session adds to its container: the share, and those of the plan. session is the
// session's directory.
func (p *Plan) Mounts(session string, share mount.Mount) []mount.Mount {
	all := []mount.Mount{share}
	if p.Record.Relay {
		all = append(all, inject.RelayMount())
	}
	if p.Record.Carrier == carrier.ByFiles {
		all = append(all, inject.RequestsMount(state.RequestsDir(session)))
	}
	if dir := p.Workspace; dir != "" {
		all = append(all, mount.Mount{Type: mount.TypeBind, Source: dir, Target: dir})
	}
	return all
}

// Apply returns want with the additions. It changes copies, because docker run passes the same values again after a
// pull.
func (a Additions) Apply(want Creation) Creation {
	cfg, host := *want.Config, *want.Host
	cfg.Env = a.Env
	cfg.Labels = make(map[string]string, len(want.Config.Labels)+len(a.Labels))
	maps.Copy(cfg.Labels, want.Config.Labels)
	maps.Copy(cfg.Labels, a.Labels)
	host.Mounts = append(slices.Clone(host.Mounts), a.Mounts...)
	host.ExtraHosts = append(slices.Clone(host.ExtraHosts), a.ExtraHosts...)
	if a.WorkingDir != "" {
		cfg.WorkingDir = a.WorkingDir
	}
	want.Config, want.Host = &cfg, &host
	return want
}
