// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// An engine on another host, or with its own file system, does not see this host's directories, and cannot mount a
// session's share. The container then gets a volume of the engine, which the engine's copy API fills, and a relay
// carries the calls.

// sourceMissing reports whether an engine refused a container because it does not see dir.
func sourceMissing(err error, dir string) bool {
	return err != nil && strings.Contains(err.Error(), "bind source path does not exist") && strings.Contains(err.Error(), dir)
}

// createContainer creates the container with the share or, if the engine does not see the share, with a volume.
func (l *Launch) createContainer(ctx context.Context, api client.APIClient, want Creation, path string) (container.CreateResponse, error) {
	resp, err := l.additions(want, path).Apply(want).send(ctx, api)
	if !sourceMissing(err, l.Dir) || !l.Plan.Record.Relay {
		return resp, err
	}
	if err := l.useVolume(ctx, api, want); err != nil {
		return l.fail(err)
	}
	return l.additions(want, path).Apply(want).send(ctx, api)
}

// useVolume lets the additions mount a volume in place of the share. If the image of want is missing, docker run pulls
// it and tries again.
func (l *Launch) useVolume(ctx context.Context, api client.APIClient, want Creation) error {
	if l.http.Address != "" {
		return errRemoteHTTP
	}
	if l.volume != "" { // docker run may create the container again after a pull
		return nil
	}
	name, err := l.fillVolume(ctx, api, want)
	if err != nil && name != "" {
		removeVolume(api, name)
	}
	if err == nil {
		l.volume = name
	}
	return err
}

var errRemoteHTTP = cli.Hint(errors.New("--http: the engine does not see this host's directories: it is elsewhere"), "omit --http: the commands use a relay")

// fillVolume creates and fills the volume. The copy API needs a container: a temporary container, which never runs,
// mounts the volume writable. The session's container mounts it read-only. After an error, fillVolume also returns the
// name of the volume, if there is one.
func (l *Launch) fillVolume(ctx context.Context, api client.APIClient, want Creation) (name string, err error) {
	arch, err := l.engineArch(ctx, api)
	if err != nil {
		return "", err
	}
	archive, err := inject.Archive(arch, l.Plan.Record.Shims(), l.Plan.Record.RuleCommands, "")
	if err != nil {
		return "", err
	}
	labels := map[string]string{inject.LabelSession: l.Plan.Record.ID}
	v, err := api.VolumeCreate(ctx, volume.CreateOptions{Labels: labels})
	if err != nil {
		return "", fmt.Errorf("make a volume for the shims: %w", err)
	}
	filler := Creation{Platform: want.Platform,
		Config: &container.Config{Image: want.Config.Image, Cmd: []string{inject.Shim}, Labels: labels},
		Host:   &container.HostConfig{},
	}
	filler.Host.Mounts = append(filler.Host.Mounts, inject.VolumeMount(v.Name, false))
	resp, err := filler.send(ctx, api)
	if err != nil {
		return v.Name, fmt.Errorf("make a container to fill the volume: %w", err)
	}
	defer remove(api, resp.ID)
	if err := api.CopyToContainer(ctx, resp.ID, inject.Target, archive, container.CopyToContainerOptions{}); err != nil {
		return v.Name, fmt.Errorf("copy the shims into the volume: %w", err)
	}
	return v.Name, nil
}

func removeVolume(api client.APIClient, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = api.VolumeRemove(ctx, name, false) // prune removes volumes that are left
}

// RemoveDeadVolumes removes volumes that no container uses. dead reports that a session has no watcher: only the
// volumes of such sessions are removed.
func RemoveDeadVolumes(ctx context.Context, api client.APIClient, dead func(session string) bool) error {
	list, err := api.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("label", state.Label))})
	if err != nil {
		return fmt.Errorf("look for volumes: %w", err)
	}
	var errs []error
	for _, v := range list.Volumes {
		if !dead(v.Labels[state.Label]) {
			continue
		}
		if err := api.VolumeRemove(ctx, v.Name, false); err != nil && !errdefs.IsConflict(err) && !errdefs.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("remove volume %s: %w", v.Name, err))
		}
	}
	return errors.Join(errs...)
}
