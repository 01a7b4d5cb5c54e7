// SPDX-License-Identifier: Apache-2.0

package container

import (
	"fmt"
	"slices"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// A container controls the directories of PATH that are in its mounts, and the files there that variables name.
// Commands run without these directories and variables.

// sources returns the paths of this host that c mounts. A read-only mount that is recursive can have writable mounts
// below it.
func (mc *mountCheck) sources(c container.InspectResponse) (list []mount.Point) {
	if mc.record.Session().RemoteFiles {
		return nil
	}
	for _, m := range c.Mounts {
		if m.Source != "" && !names.Within(m.Destination, state.Target) {
			list = append(list, mount.Point{Source: m.Source, ReadOnly: !m.RW, NonRecursive: !recursive(c, m.Destination)})
		}
	}
	return list
}

// access returns the paths that c and other containers of this session can write, without open directories.
func (mc *mountCheck) access(c container.InspectResponse) *mount.Table {
	t, _ := mount.NewTable(slices.Concat(mc.sources(c), mc.others), mount.Default{}) // it fails only for a Default with a directory
	return t
}

// adapt replaces programs that c, or the container of another session, can write, as Record.Adapt does.
func (mc *mountCheck) adapt(c container.InspectResponse) (notes []string) {
	access := mc.access(c)
	mc.sessions.AddTo(access)
	return mc.record.Adapt(access, mc.config.Environ)
}

// refuseDependencies refuses a container that could write a protected file through another mount of its directory. It
// also refuses one that could write a dependency of such a file: the interpreter of a script, or a library.
func (mc *mountCheck) refuseDependencies(c container.InspectResponse, all []watch.ProtectedFile) error {
	access := mc.access(c)
	path, _ := hostcode.Path(osenv.Get(mc.config.Environ, "PATH"), access)
	for _, k := range all {
		at, ok := hostcode.WritableDependency(k.Path, path, access)
		switch {
		case !ok || k.OnMount != watch.RefuseWritable:
		case at == k.Path:
			return fmt.Errorf("the container could change %s, which %s: mount its directory read-only, or %s", at, k.Does, k.Instead)
		default:
			return fmt.Errorf("the container could change %s, which is code of %s, which %s: mount it read-only, or %s", at, k.Path, k.Does, k.Instead)
		}
	}
	if at, ok := watch.WritableNotifier(mc.notifier, access); ok {
		return fmt.Errorf("the container could change %s, which notify.command names: mount it read-only, or %s", at, watch.Narrower)
	}
	return nil
}

// addOther stores the paths that another container of this session can write.
func (mc *mountCheck) addOther(c container.InspectResponse) (fresh []mount.Point) {
	for _, m := range mc.sources(c) {
		if !slices.Contains(mc.others, m) {
			mc.others = append(mc.others, m)
			fresh = append(fresh, m)
		}
	}
	return fresh
}
