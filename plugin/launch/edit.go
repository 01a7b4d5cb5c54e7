// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"

	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// edited returns want with the session in it. What want points to stays as it is: docker
// run passes the same again after a pull.
func (l *Launch) edited(want Creation, path string) Creation {
	cfg, host := *want.Config, *want.Host
	cfg.Env = inject.Env(cfg.Env, path, len(l.Plan.Record.RuleCommands) > 0)
	if l.http.Address != "" {
		cfg.Env = l.http.Env(l.imageEnv, cfg.Env)
	}
	if l.http.Guardian != "" {
		addr, _, _ := net.SplitHostPort(l.http.Address)
		host.ExtraHosts = append(slices.Clone(host.ExtraHosts), l.http.Guardian+":"+addr)
	}
	cfg.Labels = inject.Labels(cfg.Labels, &l.Plan.Record)
	share := inject.Mount(state.ShareDir(l.Dir))
	if l.volume != "" {
		share = inject.VolumeMount(l.volume, true)
	}
	host.Mounts = append(slices.Clone(host.Mounts), l.Plan.Mounts(l.Dir, share)...)
	if l.Plan.Workspace != "" && !l.Plan.KeepDir {
		cfg.WorkingDir = l.Plan.Workspace
	}
	want.Config, want.Host = &cfg, &host
	return want
}

// Mounts are those that the session's container has beyond its own: share, and what goes
// with it. session is the session's folder.
func (p *Plan) Mounts(session string, share mount.Mount) []mount.Mount {
	all := []mount.Mount{share}
	if p.Record.Relay {
		all = append(all, inject.RelayMount())
	}
	if p.Record.Carrier == carrier.ByFiles {
		all = append(all, inject.Requests(state.ProxyDir(session)))
	}
	if dir := p.Workspace; dir != "" {
		all = append(all, mount.Mount{Type: mount.TypeBind, Source: dir, Target: dir})
	}
	return all
}

// containerPath returns the PATH that the container would have without us. The error is
// NotFound when its image is not there.
func containerPath(ctx context.Context, api client.APIClient, want Creation) (string, error) {
	if p, set := inject.Path(want.Config.Env); set {
		return p, nil
	}
	env, err := imageEnv(ctx, api, want)
	return pathOf(env), err
}

// imageEnv is the environment that the container's image has.
func imageEnv(ctx context.Context, api client.APIClient, want Creation) ([]string, error) {
	var opts []client.ImageInspectOption
	if want.Platform != nil && versions.GreaterThanOrEqualTo(api.ClientVersion(), "1.49") {
		opts = append(opts, client.ImageInspectWithPlatform(want.Platform))
	}
	return envOf(ctx, api, want.Config.Image, opts...)
}

// ImagePath returns the PATH that an image sets.
func ImagePath(ctx context.Context, api client.APIClient, image string) (string, error) {
	env, err := envOf(ctx, api, image)
	return pathOf(env), err
}

func envOf(ctx context.Context, api client.APIClient, image string, opts ...client.ImageInspectOption) ([]string, error) {
	img, err := api.ImageInspect(ctx, image, opts...)
	if err != nil || img.Config == nil {
		return nil, err
	}
	return img.Config.Env, nil
}

// pathOf is the PATH of an image's environment.
func pathOf(env []string) string {
	if p, set := inject.Path(env); set {
		return p
	}
	return inject.DefaultPath
}

// EngineArch returns the architecture whose shim the engine's kernel runs natively. The
// image's does not matter: an emulated shim would only be slower.
func EngineArch(ctx context.Context, api client.APIClient) (string, error) {
	v, err := api.ServerVersion(ctx)
	if err != nil {
		return "", fmt.Errorf("ask the engine what it runs on: %w", err)
	}
	if v.Os != "linux" {
		return "", fmt.Errorf("the engine runs %s containers: only linux is supported", v.Os)
	}
	return inject.Arch(v.Arch), nil
}

// AskArch is EngineArch, asked for ahead: the engine starts programs to tell of versions, and
// there is time until the answer is needed.
func AskArch(ctx context.Context, api client.APIClient) func() (string, error) {
	return ahead(func() (string, error) { return EngineArch(ctx, api) })
}

// ahead starts f. The returned function waits for f and returns its results, as often as it is called.
func ahead[T any](f func() (T, error)) func() (T, error) {
	var value T
	var err error
	done := make(chan struct{})
	// ends with f; whoever wants its result waits for it.
	go func() {
		defer close(done)
		value, err = f()
	}()
	return func() (T, error) {
		<-done
		return value, err
	}
}

// engineArch is EngineArch of the session's engine. A socket crosses into a container only within one kernel,
// so where calls come by nothing else the engine need not be asked, for which it starts programs.
func (l *Launch) engineArch(ctx context.Context, api client.APIClient) (string, error) {
	rec := &l.Plan.Record
	if !rec.Relay && rec.Carrier != carrier.ByFiles && slices.Contains(inject.Arches(), runtime.GOARCH) {
		return runtime.GOARCH, nil
	}
	return EngineArch(ctx, api)
}
