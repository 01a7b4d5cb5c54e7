// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// MakeWorkspace creates the directory of the agent with session id below base. It returns the path without
// symbolic links.
func MakeWorkspace(base, id string) (string, error) {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", fmt.Errorf("make the directory of workspaces: %w", err)
	}
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		return "", fmt.Errorf("find the directory of workspaces: %w", err)
	}
	dir := filepath.Join(base, id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a workspace: %w", err)
	}
	return dir, nil
}

// copier is the part of the engine's API for changing the owner of a directory.
type copier interface {
	CopyToContainer(ctx context.Context, id, path string, content io.Reader, opts container.CopyToContainerOptions) error
	CopyFromContainer(ctx context.Context, id, path string) (io.ReadCloser, container.PathStat, error)
}

// chownWorkspace makes the container's user the owner of the workspace, which is mounted at target. Only the engine
// may give a directory to another user. The group stays this user's group and may write.
func chownWorkspace(ctx context.Context, api Engine, id, target, user string) error {
	uid, err := lookupUID(ctx, api, id, user)
	if err != nil {
		return err
	}
	info, err := api.Info(ctx)
	if err != nil {
		return err
	}
	mapped := slices.ContainsFunc(info.SecurityOptions, func(o string) bool {
		return strings.HasPrefix(o, "name=userns") || strings.HasPrefix(o, "name=rootless")
	})
	if !mapped && (uid == 0 || uid == os.Getuid()) {
		return nil
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	h := tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(target, "/") + "/", Mode: 0o770, Uid: uid, Gid: os.Getgid()}
	if err := errors.Join(w.WriteHeader(&h), w.Close()); err != nil {
		return err
	}
	return api.CopyToContainer(ctx, id, "/", &b, container.CopyToContainerOptions{})
}

// maxPasswd limits the bytes of a passwd file that are read.
const maxPasswd = 1 << 20

// lookupUID returns the uid of an image's user. user may be a name or number, followed by a group.
func lookupUID(ctx context.Context, api copier, id, user string) (int, error) {
	name, _, _ := strings.Cut(user, ":")
	if name == "" || name == "root" {
		return 0, nil
	}
	if uid, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(uid), nil
	}
	r, _, err := api.CopyFromContainer(ctx, id, "/etc/passwd")
	if err != nil {
		return 0, fmt.Errorf("look for the container's user: %w", err)
	}
	defer r.Close()
	t := tar.NewReader(io.LimitReader(r, maxPasswd))
	if _, err := t.Next(); err != nil {
		return 0, fmt.Errorf("read the container's users: %w", err)
	}
	if uid, ok := uidIn(t, name); ok {
		return uid, nil
	}
	return 0, fmt.Errorf("the image's user %s is not in its /etc/passwd", names.Escaped(name))
}

// uidIn finds a user in a passwd(5) file.
func uidIn(passwd io.Reader, name string) (int, bool) {
	for in := bufio.NewScanner(passwd); in.Scan(); {
		f := strings.Split(in.Text(), ":")
		if len(f) < 3 || f[0] != name {
			continue
		}
		uid, err := strconv.ParseUint(f[2], 10, 31)
		return int(uid), err == nil
	}
	return 0, false
}
