// SPDX-License-Identifier: Apache-2.0

package container

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// A directory of this host's PATH may lie in a mount: then its programs are the container's,
// and so is what a variable of the environment names there. Commands run without these.

// sources are what of this host c shows. What is mounted below a read-only one can be written.
func (mc *mountCheck) sources(c container.InspectResponse) (list []mount.Point) {
	if mc.record.RemoteFiles {
		return nil
	}
	for _, m := range c.Mounts {
		if m.Source != "" && !names.Within(m.Destination, state.Target) {
			list = append(list, mount.Point{Source: m.Source, ReadOnly: !m.RW, Alone: !recursive(c, m.Destination)})
		}
	}
	return list
}

// owner knows what c can write, and what other containers that make calls of this session can.
// It holds no directory.
func (mc *mountCheck) owner(c container.InspectResponse) *mount.Table {
	t, _ := mount.NewTable(slices.Concat(mc.sources(c), mc.others), mount.Default{}) // it fails only for a Default with a directory
	return t
}

// adapt has commands that were found in a part of PATH that c supplies be those that the rest
// of it has. It returns what a person should know of that.
func (mc *mountCheck) adapt(c container.InspectResponse) (notes []string) {
	owner := mc.owner(c)
	path, _ := executor.Path(osenv.Get(mc.config.Environ, "PATH"), owner)
	all := slices.Clone(mc.record.Proxied()) // calls of an earlier container may still be decided by the old ones
	for i := range all {
		cmd := &all[i]
		if !cmd.Found || !owner.ControlsFilesIn(filepath.Dir(cmd.Path)) {
			continue
		}
		// Where there is none, refuse says so.
		if other, ok := osenv.LookPath(filepath.Base(cmd.Path), path); ok {
			notes = append(notes, fmt.Sprintf("--proxy %s runs %s, and not %s, which the container can write", cmd.Name, other, cmd.Path))
			cmd.Path = other
		}
	}
	mc.record.Change(func() {
		n := len(mc.record.Commands)
		mc.record.Commands = all[:n:n]
		if mc.record.Shell != nil {
			mc.record.Shell = &all[n]
		}
	})
	return notes
}

// dependable refuses a container that could write what one of the files that are kept depends
// on: by another name of a mount, as the interpreter of a script, or as a library.
func (mc *mountCheck) dependable(c container.InspectResponse) error {
	owner := mc.owner(c)
	path, _ := executor.Path(osenv.Get(mc.config.Environ, "PATH"), owner)
	for _, k := range mc.protected() {
		at, ok := executor.WritableDependency(k.path, path, owner)
		switch {
		case !ok || k.against != refuseWritable:
		case at == k.path:
			return fmt.Errorf("the container could change %s, which %s: mount what it is in read-only, or %s", at, k.does, k.instead)
		default:
			return fmt.Errorf("the container could change %s, which is code of %s, which %s: mount it read-only, or %s", at, k.path, k.does, k.instead)
		}
	}
	if at, ok := watch.WritableNotifier(mc.notifier, owner); ok {
		return fmt.Errorf("the container could change %s, which notify.command names: mount it read-only, or %s", at, narrower)
	}
	return nil
}

// addOther notes what another container that makes calls of this session can write.
func (mc *mountCheck) addOther(c container.InspectResponse) (fresh []mount.Point) {
	for _, m := range mc.sources(c) {
		if !slices.Contains(mc.others, m) {
			mc.others = append(mc.others, m)
			fresh = append(fresh, m)
		}
	}
	return fresh
}
