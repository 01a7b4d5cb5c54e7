// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"fmt"
	"os"

	apimount "github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// RefuseMountOf returns an error if container id mounts one of private, a part of it, or a directory that contains it,
// under any name. private are hostexec's own files and directories.
func RefuseMountOf(ctx context.Context, api watch.Engine, id string, private ...string) error {
	c, err := inspect(ctx, api, id)
	if err != nil {
		return fmt.Errorf("look at the mounts of the container: %w", err)
	}
	var located []*protectedFiles
	for _, m := range c.Mounts {
		if m.Type != apimount.TypeBind {
			continue
		}
		if m.Source == "" {
			return errUnclearVolume(m.Name)
		}
		if located == nil {
			if located, err = locatePrivate(private); err != nil {
				return err
			}
		}
		for _, l := range located {
			if err := l.refuseSource(m.Source, m.RW, recursive(c, m.Destination)); err != nil {
				return err
			}
		}
	}
	return nil
}

func locatePrivate(private []string) (all []*protectedFiles, err error) {
	v, err := mount.ReadHostMounts()
	if err != nil {
		return nil, err
	}
	for _, p := range private {
		l := &protectedFiles{host: v, stateDir: p, stateLocation: v.Locate(p), files: append(firstFiles(p), p)}
		if fi, err := os.Lstat(p); err == nil && !fi.IsDir() {
			l.moveHint = "move the socket (XDG_RUNTIME_DIR, --listen) to a directory"
		}
		all = append(all, l)
	}
	return all, nil
}
