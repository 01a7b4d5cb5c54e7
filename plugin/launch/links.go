// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/inject"
)

// ownPrograms are commands that login shells find as programs of the image.
type ownPrograms []string

func (o ownPrograms) Error() string {
	return fmt.Sprintf("%s has its own %s", inject.LinkDir, strings.Join(o, ", "))
}

// linkWarning says why login shells do not find all of names in the container, or is "".
func linkWarning(err error, names []string) string {
	var own ownPrograms
	switch {
	case err == nil:
		return ""
	case errors.As(err, &own):
		return fmt.Sprintf("login shells run the container's own %s, in %s; to run this host's, call %s/NAME", strings.Join(own, ", "), inject.LinkDir, inject.Bin)
	}
	return fmt.Sprintf("login shells run the container's own %s, if it has any: %v; those of this host are in %s", strings.Join(names, ", "), err, inject.Bin)
}

// inspectForLinks asks the engine for the container into which links are to be copied. raw is its answer, or nil if there
// is nothing to copy; the error says why links that are wanted cannot be copied.
func (l *Launch) inspectForLinks(api client.APIClient, want Creation) (c container.InspectResponse, raw []byte, err error) {
	if len(l.Plan.Record.Linked()) == 0 {
		return c, nil, nil
	}
	if want.Host.ReadonlyRootfs {
		return c, nil, errors.New("it is read-only")
	}
	// What has begun ends soon; run's interruption is seen to when it has.
	if c, raw, err = api.ContainerInspectWithRaw(context.Background(), l.ID, false); err != nil {
		return c, nil, err
	}
	return c, raw, nil
}

// copyLinks puts a link for each command where login shells find it, unless the container
// has something of that name there (ownPrograms), or that place is not the container's own.
func (l *Launch) copyLinks(api client.APIClient, want Creation, c container.InspectResponse) error {
	ctx := context.Background() // as in inspectForLinks
	targets := append(inject.Targets(want.Config, want.Host), MountTargets(c)...)
	if inject.Covered(targets, inject.LinkDir) {
		return fmt.Errorf("there is a mount over %s", inject.LinkDir)
	}
	all := append(l.Plan.Record.Names(), inject.Shim)
	names, err := l.linkable(ctx, api, c.Image, all, slices.ContainsFunc(targets, notOurs))
	if err != nil {
		return err
	}
	ruled, err := l.unnamed(ctx, api, c, targets)
	if err != nil {
		return err
	}
	if len(names)+len(ruled) > 0 {
		archive, err := inject.Links(names, ruled)
		if err == nil {
			err = api.CopyToContainer(ctx, l.ID, "/", archive, container.CopyToContainerOptions{})
		}
		if err != nil {
			return err
		}
	}
	own := slices.DeleteFunc(all, func(name string) bool { return slices.Contains(names, name) })
	if len(own) > 0 {
		return ownPrograms(own)
	}
	return nil
}

// unnamed returns the commands with rules only for which login shells find no program in the
// container. A mount is not looked at: it may have such a program.
func (l *Launch) unnamed(ctx context.Context, api client.APIClient, c container.InspectResponse, targets []string) (free []string, err error) {
	dirs := searched(c.Config.Env)
	if len(l.Plan.Record.RuleCommands) == 0 || slices.ContainsFunc(dirs, func(dir string) bool { return inject.Covered(targets, dir) }) {
		return nil, nil
	}
	var paths []string
	for _, name := range l.Plan.Record.RuleCommands {
		paths = append(paths, places(dirs, name)...)
	}
	found, err := l.look(ctx, api, c.Image, paths)
	if err != nil {
		return nil, err
	}
	for _, name := range l.Plan.Record.RuleCommands {
		taken := func(p string) bool { return !inject.Linkable(found[p].Exists, found[p].Link) }
		if !slices.ContainsFunc(places(dirs, name), taken) {
			free = append(free, name)
		}
	}
	return free, nil
}

// MountTargets returns the paths where the engine mounts something: the image's volumes and what another
// container lends are there too.
func MountTargets(c container.InspectResponse) (targets []string) {
	for _, m := range c.Mounts {
		targets = append(targets, path.Clean(m.Destination))
	}
	return targets
}

func notOurs(target string) bool { return target != inject.Target }

// linkable returns those of names that a link may take in the container, which is made of
// image. Where there are mounts, no directory above may be a symbolic link, which could
// lead into one.
func (l *Launch) linkable(ctx context.Context, api client.APIClient, image string, names []string, mounts bool) ([]string, error) {
	above, paths := linkPaths(names)
	found, err := l.look(ctx, api, image, slices.Concat(above, paths))
	if err != nil {
		return nil, err
	}
	for _, p := range above {
		if mounts && found[p].Link != "" {
			return nil, fmt.Errorf("%s is a symbolic link in this image, and may lead into a mount", p)
		}
	}
	var free []string
	for i, name := range names {
		if f := found[paths[i]]; inject.Linkable(f.Exists, f.Link) {
			free = append(free, name)
		}
	}
	return free, nil
}

// look finds out what the container has at paths, as far as that is not known of its
// image, and remembers it: each look makes the engine mount the container.
func (l *Launch) look(ctx context.Context, api client.APIClient, image string, paths []string) (map[string]inject.Found, error) {
	found := inject.LoadFindings(l.Store.Home, image)
	var unknown []string
	for _, p := range paths {
		if _, ok := found[p]; !ok {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) == 0 {
		return found, nil
	}
	news, err := lookAtPaths(ctx, api, l.ID, unknown)
	if err != nil {
		return nil, err
	}
	for i, p := range unknown {
		found[p] = news[i]
	}
	_ = inject.SaveFindings(l.Store.Home, image, found) // the next run looks again
	return found, nil
}

// linkPaths returns the directories above the links, from the lowest, and the path of the link for each of names.
func linkPaths(names []string) (above, links []string) {
	for p := inject.LinkDir; p != "/"; p = path.Dir(p) {
		above = append(above, p)
	}
	for _, name := range names {
		links = append(links, path.Join(inject.LinkDir, name))
	}
	return above, links
}

// lookAtPaths calls lookAtPath for all paths at the same time.
func lookAtPaths(ctx context.Context, api client.APIClient, id string, paths []string) ([]inject.Found, error) {
	found, errs := make([]inject.Found, len(paths)), make([]error, len(paths))
	var wg sync.WaitGroup
	for i, p := range paths {
		// ends with its request; lookAtPaths waits for it.
		wg.Go(func() { found[i], errs[i] = lookAtPath(ctx, api, id, p) })
	}
	wg.Wait()
	return found, errors.Join(errs...)
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
