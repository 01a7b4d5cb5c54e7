// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	all, stat := append(l.Plan.Record.Shims(), inject.Shim), l.statImage(ctx, api, c.Image)
	names, own, err := linkable(stat, all, slices.ContainsFunc(targets, isOther), " in this image")
	if err != nil {
		return err
	}
	var ruled []string
	covered := func(dir string) bool { return inject.Covered(targets, dir) }
	if !slices.ContainsFunc(searchDirs(c.Config.Env), covered) { // a mount may contain a program of that name
		if ruled, err = namesWithoutProgram(stat, c, l.Plan.Record.RuleCommands); err != nil {
			return err
		}
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
	if len(own) > 0 {
		return own
	}
	return nil
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

// statFunc returns the files at paths in a container.
type statFunc func(paths []string) (map[string]inject.ImageFile, error)

// linkable returns the names for which a link can be created, and those of the container's own programs. If the
// container has mounts, a parent directory that is a symbolic link is an error, because it could lead into a mount. The
// error names the link, followed by where: "", or " in this image".
func linkable(stat statFunc, names []string, mounts bool, where string) (free []string, own ownPrograms, err error) {
	var above, links []string
	for p := inject.LinkDir; p != "/"; p = path.Dir(p) {
		above = append(above, p)
	}
	for _, name := range names {
		links = append(links, path.Join(inject.LinkDir, name))
	}
	found, err := stat(slices.Concat(above, links))
	if err != nil {
		return nil, nil, err
	}
	for _, p := range above {
		if mounts && found[p].Link != "" {
			return nil, nil, fmt.Errorf("%s is a symbolic link%s, and may lead into a mount", p, where)
		}
	}
	for i, name := range names {
		if f := found[links[i]]; inject.Linkable(f.Exists, f.Link) {
			free = append(free, name)
		} else {
			own = append(own, name)
		}
	}
	return free, own, nil
}

// statImage returns the statFunc of the container, which has not run. It stores the files by image, because the engine
// mounts the container for each request.
func (l *Launch) statImage(ctx context.Context, api client.APIClient, image string) statFunc {
	return func(paths []string) (map[string]inject.ImageFile, error) {
		found := inject.LoadImageFiles(l.Store.Home, image)
		unknown := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { _, ok := found[p]; return ok })
		if len(unknown) == 0 {
			return found, nil
		}
		fresh, err := statContainer(ctx, api, l.ID)(unknown)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, fresh)
		_ = inject.SaveImageFiles(l.Store.Home, image, found) // after an error, the next run asks the engine again
		return found, nil
	}
}

// maxStats is how many paths are looked at concurrently: for an engine over SSH, each request may start an ssh.
const maxStats = 16

// statContainer returns the statFunc of container id. It looks at the paths concurrently.
func statContainer(ctx context.Context, api client.APIClient, id string) statFunc {
	return func(paths []string) (map[string]inject.ImageFile, error) {
		files, errs := make([]inject.ImageFile, len(paths)), make([]error, len(paths))
		var wg sync.WaitGroup
		slots := make(chan struct{}, maxStats)
		for i, p := range paths {
			slots <- struct{}{}
			// ends with its request; the function waits for it.
			wg.Go(func() {
				files[i], errs[i] = statPath(ctx, api, id, p)
				<-slots
			})
		}
		wg.Wait()
		found := make(map[string]inject.ImageFile, len(paths))
		for i, p := range paths {
			found[p] = files[i]
		}
		return found, errors.Join(errs...)
	}
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
