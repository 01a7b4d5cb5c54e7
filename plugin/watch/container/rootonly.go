// SPDX-License-Identifier: Apache-2.0

package container

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/system"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// What attach copies into a container is executed there as root, whoever the container's own
// user is. That is root's in it alone to replace only if all of the way to it is.

// shimPath is each step of it.
var shimPath = []string{"/", path.Dir(state.Target), state.Target, state.Target + "/bin", state.Target + "/bin/hostexec"}

// archives is what of an engine tells who owns a container's files.
type archives interface {
	Info(ctx context.Context) (system.Info, error)
	CopyFromContainer(ctx context.Context, id, path string) (io.ReadCloser, container.PathStat, error)
}

// CheckShimOwner refuses an attached container, or one that is to be, in which others than root
// could put another program in the place of the shim. What is not there yet only root can make
// if it owns what is above. It is asked anew before each exec as root.
func CheckShimOwner(ctx context.Context, api archives, id string) error {
	info, err := api.Info(ctx)
	if err != nil {
		return fmt.Errorf("look at the engine: %w", err)
	}
	for _, p := range shimPath {
		h, err := headerOf(ctx, api, id, p)
		switch {
		case errdefs.IsNotFound(err):
			return nil
		case err != nil:
			return fmt.Errorf("look at %s in the container: %w", p, err)
		}
		why, noDir := "", p != shimPath[len(shimPath)-1] && h.Typeflag != tar.TypeDir
		switch {
		case h.Typeflag == tar.TypeSymlink:
			why = "is a symbolic link"
		case noDir:
			why = "is no directory"
		case !slices.Contains(roots(info), h.Uid):
			why = fmt.Sprintf("belongs to user %d", h.Uid)
		case h.Mode&0o022 != 0:
			why = "can be written by others"
		default:
			continue
		}
		return &ReplaceableError{p, why, noDir}
	}
	return nil
}

// ReplaceableError says what of the way to the shim is not root's alone.
type ReplaceableError struct {
	Path, Why string
	NoDir     bool // something else has the place of a directory: a link, or a file
}

func (e *ReplaceableError) Error() string {
	if e.NoDir {
		return fmt.Sprintf("%s in the container %s: it has to be a directory of root's", e.Path, e.Why)
	}
	return fmt.Sprintf("%s in the container %s: others than root could have root execute another program there", e.Path, e.Why)
}

// headerOf is what an archive of path p begins with: no other answer of an engine's names the
// owner. The rest is not read.
func headerOf(ctx context.Context, api archives, id, p string) (*tar.Header, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, _, err := api.CopyFromContainer(ctx, id, p)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return tar.NewReader(r).Next()
}

// roots are the numbers of containers' root in archives of an engine: some tell that of the
// host, when they map users (userns-remap), and their directory is named after it.
func roots(info system.Info) []int {
	uids := []int{0}
	if slices.ContainsFunc(info.SecurityOptions, func(o string) bool { return strings.HasPrefix(o, "name=userns") }) {
		uid, _, _ := strings.Cut(path.Base(info.DockerRootDir), ".")
		if n, err := strconv.Atoi(uid); err == nil {
			uids = append(uids, n)
		}
	}
	return uids
}
