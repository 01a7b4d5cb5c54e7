// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/inject"
)

// copyLinks puts a link for each command where login shells find it, unless the container
// has something of that name there, or that place is not the container's own.
func (l *launch) copyLinks(api client.APIClient, want creation) error {
	if want.host.ReadonlyRootfs || len(l.plan.rec.Commands) == 0 {
		return nil
	}
	// What has begun ends soon; run's interruption is seen to when it has.
	ctx := context.Background()
	c, err := api.ContainerInspect(ctx, l.id)
	if err != nil {
		return err
	}
	targets := append(inject.Targets(want.config, want.host), mounted(c)...)
	if inject.Covered(targets, inject.LinkDir) {
		return nil
	}
	names, err := l.linkable(ctx, api, c.Image, append(l.plan.rec.Names(), inject.Shim), slices.ContainsFunc(targets, notOurs))
	if err != nil || len(names) == 0 {
		return err
	}
	archive, err := inject.Links(names)
	if err != nil {
		return err
	}
	return api.CopyToContainer(ctx, l.id, "/", archive, container.CopyToContainerOptions{})
}

// mounted is where the engine will mount something: the image's volumes and what another
// container lends are there too.
func mounted(c container.InspectResponse) (targets []string) {
	for _, m := range c.Mounts {
		targets = append(targets, path.Clean(m.Destination))
	}
	return targets
}

func notOurs(target string) bool { return target != inject.Target }

// linkable returns those of names that a link may take in the container, which is made of
// image. Where there are mounts, no directory above may be a symbolic link, which could
// lead into one.
func (l *launch) linkable(ctx context.Context, api client.APIClient, image string, names []string, mounts bool) ([]string, error) {
	var paths []string
	for p := inject.LinkDir; p != "/"; p = path.Dir(p) {
		paths = append(paths, p)
	}
	above := len(paths)
	for _, name := range names {
		paths = append(paths, path.Join(inject.LinkDir, name))
	}
	found, err := l.look(ctx, api, image, paths)
	if err != nil {
		return nil, err
	}
	for _, p := range paths[:above] {
		if mounts && found[p].Link != "" {
			return nil, fmt.Errorf("%s is a symbolic link in this image, and may lead into a mount", p)
		}
	}
	var free []string
	for i, name := range names {
		if f := found[paths[above+i]]; inject.Linkable(f.Exists, f.Link) {
			free = append(free, name)
		}
	}
	return free, nil
}

// look finds out what the container has at paths, as far as that is not known of its
// image, and remembers it: each look makes the engine mount the container.
func (l *launch) look(ctx context.Context, api client.APIClient, image string, paths []string) (map[string]inject.Found, error) {
	found := inject.Recall(l.store.Home, image)
	var unknown []string
	for _, p := range paths {
		if _, ok := found[p]; !ok {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) == 0 {
		return found, nil
	}
	news := make([]inject.Found, len(unknown))
	errs := make([]error, len(unknown))
	var wg sync.WaitGroup
	for i, p := range unknown {
		// ends with its request; look waits for it.
		wg.Go(func() { news[i], errs[i] = lookAtPath(ctx, api, l.id, p) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i, p := range unknown {
		found[p] = news[i]
	}
	_ = inject.Remember(l.store.Home, image, found) // the next run looks again
	return found, nil
}

func lookAtPath(ctx context.Context, api client.APIClient, id, p string) (inject.Found, error) {
	st, err := api.ContainerStatPath(ctx, id, p)
	switch {
	case errdefs.IsNotFound(err):
		return inject.Found{}, nil
	case err != nil:
		return inject.Found{}, fmt.Errorf("look at %s in the container: %w", p, err)
	}
	if st.Mode&fs.ModeSymlink == 0 && st.LinkTarget == p {
		st.LinkTarget = "" // Podman says of everything where it leads
	}
	return inject.Found{Exists: true, Link: st.LinkTarget}, nil
}
