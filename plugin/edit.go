// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
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
func (l *launch) edited(want creation, path string) creation {
	cfg, host := *want.config, *want.host
	cfg.Env = inject.Env(cfg.Env, path)
	cfg.Labels = inject.Labels(cfg.Labels, &l.plan.rec)
	share := inject.Mount(state.ShareDir(l.dir))
	if l.volume != "" {
		share = inject.VolumeMount(l.volume, true)
	}
	host.Mounts = append(slices.Clone(host.Mounts), share)
	if l.plan.rec.Relay {
		host.Mounts = append(host.Mounts, inject.RelayMount())
	}
	if l.plan.rec.Carrier == carrier.ByFiles {
		host.Mounts = append(host.Mounts, inject.Requests(state.ProxyDir(l.dir)))
	}
	if dir := l.plan.workspace; dir != "" {
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeBind, Source: dir, Target: dir})
		if !l.plan.keepDir {
			cfg.WorkingDir = dir
		}
	}
	want.config, want.host = &cfg, &host
	return want
}

// containerPath returns the PATH that the container would have without us. The error is
// NotFound when its image is not there.
func containerPath(ctx context.Context, api client.APIClient, want creation) (string, error) {
	if p, set := inject.Path(want.config.Env); set {
		return p, nil
	}
	var opts []client.ImageInspectOption
	if want.platform != nil && versions.GreaterThanOrEqualTo(api.ClientVersion(), "1.49") {
		opts = append(opts, client.ImageInspectWithPlatform(want.platform))
	}
	img, err := api.ImageInspect(ctx, want.config.Image, opts...)
	if err != nil {
		return "", err
	}
	if img.Config != nil {
		if p, set := inject.Path(img.Config.Env); set {
			return p, nil
		}
	}
	return inject.DefaultPath, nil
}

// engineArch returns the architecture whose shim the engine's kernel runs natively. The
// image's does not matter: an emulated shim would only be slower.
func engineArch(ctx context.Context, api client.APIClient) (string, error) {
	v, err := api.ServerVersion(ctx)
	if err != nil {
		return "", fmt.Errorf("ask the engine what it runs on: %w", err)
	}
	if v.Os != "linux" {
		return "", fmt.Errorf("the engine runs %s containers: only linux is supported", v.Os)
	}
	return inject.Arch(v.Arch), nil
}
