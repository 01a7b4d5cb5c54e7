// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"fmt"

	apimount "github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// RefuseMountOf returns an error if container id mounts file, which is hostexec's own, or a directory that contains it,
// under any name.
func RefuseMountOf(ctx context.Context, api watch.Engine, id, file string) error {
	c, err := inspect(ctx, api, id)
	if err != nil {
		return fmt.Errorf("look at the mounts of the new container: %w", err)
	}
	var l *protectedView
	for _, m := range c.Mounts {
		if m.Type != apimount.TypeBind {
			continue
		}
		if m.Source == "" {
			return fmt.Errorf("what volume %s shows is not understood, for there is a backslash in its options: mount something else", m.Name)
		}
		if l == nil {
			v, err := mount.ReadView()
			if err != nil {
				return err
			}
			l = &protectedView{view: v, stateDir: file, at: v.Locate(file), files: []string{file}, move: "move the socket (XDG_RUNTIME_DIR, --listen) to a directory"}
		}
		if err := l.source(m.Source, m.RW, recursive(c, m.Destination)); err != nil {
			return err
		}
	}
	return nil
}
