// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// warn writes down what there is to know of the session's container, in the record that is saved
// next, in place of what was known of the one before. found are its warnings.
func (w *Watcher) warn(c container.InspectResponse, found []string) {
	list := append(slices.Clone(found), w.Config.Supplied(w.Calls.Dirs())...)
	if w.Carriers.Unreachable != "" {
		list = append(list, w.Carriers.Unreachable)
	}
	w.Warnings.Set(append(list, w.Calls.HostCode(w.mounts.writable(c), "which the container can write")...))
}

// rewarn is warn of a container that was started again, and saves it.
func (w *Watcher) rewarn(c container.InspectResponse, found []string) {
	w.Record.Change(func() { // the container may be renamed meanwhile
		old := w.Record.Warnings
		if w.warn(c, found); slices.Equal(old, w.Record.Warnings) {
			return
		}
		if err := w.Record.Save(); err != nil {
			w.log.Error("write down warnings", "error", err)
		}
	})
}

// writable returns the directories of this host that a container can write, but for the session's own.
func (mc *mountCheck) writable(c container.InspectResponse) (dirs []string) {
	if mc.record.RemoteFiles {
		return nil
	}
	for _, m := range c.Mounts {
		if m.Type == mount.TypeBind && m.RW && m.Source != "" && !within(m.Destination, state.Target) {
			dirs = append(dirs, m.Source)
		}
	}
	return dirs
}
