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

// ownPrograms are names of commands for which the container has its own programs.
type ownPrograms []string

func (o ownPrograms) Error() string {
	return fmt.Sprintf("%s has its own %s", inject.LinkDir, strings.Join(o, ", "))
}

// linkWarning returns the reason why login shells do not find all of names in the container, or "".
func linkWarning(err error, names []string) string {
	var own ownPrograms
	switch {
	case err == nil:
		return ""
	case errors.As(err, &own):
		return fmt.Sprintf("login shells run the container's own %s, in %s; to run this host's, call %s/NAME", strings.Join(own, ", "), inject.LinkDir, inject.Bin)
	}
	return fmt.Sprintf("login shells find at most the container's own %s (%v): call %s/hostexec NAME", strings.Join(names, ", "), err, inject.Bin)
}

// inspectForLinks inspects the container before links are copied into it. raw is the engine's answer, or nil if there
// are no links. The error is the reason why links cannot be copied.
func (l *Launch) inspectForLinks(api client.APIClient, want Creation) (c container.InspectResponse, raw []byte, err error) {
	if len(l.Plan.Record.Linked()) == 0 {
		return c, nil, nil
	}
	if want.Host.ReadonlyRootfs {
		return c, nil, errors.New("it is read-only")
	}
	return api.ContainerInspectWithRaw(context.Background(), l.ID, false) // short; an interruption is handled after it
}

// copyLinks creates a link for each command in LinkDir, where login shells find it. It creates no link if the container
// has a program of that name or a mount there.
func (l *Launch) copyLinks(api client.APIClient, want Creation, c container.InspectResponse) error {
	ctx := context.Background() // as in inspectForLinks
	targets := append(inject.Targets(want.Config, want.Host), MountTargets(c)...)
	if inject.Covered(targets, inject.LinkDir) {
		return fmt.Errorf("there is a mount over %s", inject.LinkDir)
	}
	all := append(l.Plan.Record.Shims(), inject.Shim)
	names, err := l.linkable(ctx, api, c.Image, all, slices.ContainsFunc(targets, isOther))
	if err != nil {
		return err
	}
	ruled, err := l.freeNames(ctx, api, c, targets)
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

// freeNames returns the rule commands for which login shells find no program in the container. It returns none if a
// mount covers a directory of PATH, because the mount may contain such a program.
func (l *Launch) freeNames(ctx context.Context, api client.APIClient, c container.InspectResponse, targets []string) (free []string, err error) {
	dirs := searchDirs(c.Config.Env)
	if len(l.Plan.Record.RuleCommands) == 0 || slices.ContainsFunc(dirs, func(dir string) bool { return inject.Covered(targets, dir) }) {
		return nil, nil
	}
	var paths []string
	for _, name := range l.Plan.Record.RuleCommands {
		paths = append(paths, candidatePaths(dirs, name)...)
	}
	found, err := l.statPaths(ctx, api, c.Image, paths)
	if err != nil {
		return nil, err
	}
	for _, name := range l.Plan.Record.RuleCommands {
		taken := func(p string) bool { return !inject.Linkable(found[p].Exists, found[p].Link) }
		if !slices.ContainsFunc(candidatePaths(dirs, name), taken) {
			free = append(free, name)
		}
	}
	return free, nil
}

// MountTargets returns the paths of all mounts in the container, also of the image's volumes and of other
// containers' volumes.
func MountTargets(c container.InspectResponse) (targets []string) {
	for _, m := range c.Mounts {
		targets = append(targets, path.Clean(m.Destination))
	}
	return targets
}

func isOther(target string) bool { return target != inject.Target }

// linkable returns the names for which a link can be created in a container of image. If the container has mounts, a
// parent directory that is a symbolic link is an error, because it could lead into a mount.
func (l *Launch) linkable(ctx context.Context, api client.APIClient, image string, names []string, mounts bool) ([]string, error) {
	above, paths := linkPaths(names)
	found, err := l.statPaths(ctx, api, image, slices.Concat(above, paths))
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

// statPaths returns the files at paths in the container. It stores them by image, because the engine mounts the
// container for each request.
func (l *Launch) statPaths(ctx context.Context, api client.APIClient, image string, paths []string) (map[string]inject.ImageFile, error) {
	found := inject.LoadImageFiles(l.Store.Home, image)
	var unknown []string
	for _, p := range paths {
		if _, ok := found[p]; !ok {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) == 0 {
		return found, nil
	}
	fresh, err := statPaths(ctx, api, l.ID, unknown)
	if err != nil {
		return nil, err
	}
	for i, p := range unknown {
		found[p] = fresh[i]
	}
	_ = inject.SaveImageFiles(l.Store.Home, image, found) // after an error, the next run asks the engine again
	return found, nil
}

// linkPaths returns the parent directories of the links, deepest first, and the path of the link for each of
// names.
func linkPaths(names []string) (above, links []string) {
	for p := inject.LinkDir; p != "/"; p = path.Dir(p) {
		above = append(above, p)
	}
	for _, name := range names {
		links = append(links, path.Join(inject.LinkDir, name))
	}
	return above, links
}

// statPaths calls statPath for all paths concurrently.
func statPaths(ctx context.Context, api client.APIClient, id string, paths []string) ([]inject.ImageFile, error) {
	found, errs := make([]inject.ImageFile, len(paths)), make([]error, len(paths))
	var wg sync.WaitGroup
	for i, p := range paths {
		// ends with its request; statPaths waits for it.
		wg.Go(func() { found[i], errs[i] = statPath(ctx, api, id, p) })
	}
	wg.Wait()
	return found, errors.Join(errs...)
}

func statPath(ctx context.Context, api client.APIClient, id, p string) (inject.ImageFile, error) {
	st, err := api.ContainerStatPath(ctx, id, p)
	switch {
	case errdefs.IsNotFound(err):
		return inject.ImageFile{}, nil
	case err != nil:
		return inject.ImageFile{}, fmt.Errorf("look at %s in the container: %w", p, err)
	}
	if st.Mode&fs.ModeSymlink == 0 && st.LinkTarget == p {
		st.LinkTarget = "" // Podman sets the link target of every file
	}
	return inject.ImageFile{Exists: true, Link: st.LinkTarget}, nil
}
