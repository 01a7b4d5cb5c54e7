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

// attach copies programs into a container, which the engine executes as root, whatever the container's own user is.
// Only root can replace them if root owns each directory of their path.

// shimPath lists the shim's path and each directory of it.
var shimPath = []string{"/", path.Dir(state.Target), state.Target, state.Target + "/bin", state.Target + "/bin/hostexec"}

// archives is the part of an engine's client that shows the owners of a container's files.
type archives interface {
	Info(ctx context.Context) (system.Info, error)
	CopyFromContainer(ctx context.Context, id, path string) (io.ReadCloser, container.PathStat, error)
}

// CheckShimOwner refuses an attached container, or one to attach to, in which users other than root could replace the
// shim. A missing directory is no risk: only the owner of the directory above can create it. Call CheckShimOwner before
// each exec as root.
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

// ReplaceableError names the part of the shim's path that other users than root can change.
type ReplaceableError struct {
	Path, Why string
	NoDir     bool // Path should be a directory, but is a link or a file
}

func (e *ReplaceableError) Error() string {
	if e.NoDir {
		return fmt.Sprintf("%s in the container %s: it has to be a directory of root's", e.Path, e.Why)
	}
	return fmt.Sprintf("%s in the container %s: users other than root could replace a program that root executes there", e.Path, e.Why)
}

// headerOf returns the first header of an archive of path p, because the API shows the owner of a file only in
// archives.
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

// roots returns the user ids that root of a container has in archives of an engine. With userns-remap, some
// engines use the ids of the host, and the name of the engine's directory contains them.
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
