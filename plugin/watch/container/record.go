// SPDX-License-Identifier: Apache-2.0

package container

import (
	"slices"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// setWarnings writes down what there is to know of the session's container, in the record that is saved
// next, in place of what was known of the one before. found are its warnings.
func (m *Mode) setWarnings(c container.InspectResponse, found []string) {
	list := append(slices.Clone(found), m.s.Config.Supplied(m.s.Calls.Dirs())...)
	if m.s.Carriers.Unreachable != "" {
		list = append(list, m.s.Carriers.Unreachable)
	}
	m.s.Warnings.Set(append(list, m.s.Calls.HostCode(m.mounts.writable(c), "which the container can write")...))
}

// updateWarnings is warn of a container that was started again, and saves it.
func (m *Mode) updateWarnings(c container.InspectResponse, found []string) {
	m.s.Record.Change(func() { // the container may be renamed meanwhile
		old := m.s.Record.Warnings
		if m.setWarnings(c, found); slices.Equal(old, m.s.Record.Warnings) {
			return
		}
		if err := m.s.Record.Save(); err != nil {
			m.s.Log.Error("write down warnings", "error", err)
		}
	})
}

// writable returns the directories of this host that a container can write, but for the session's own.
func (mc *mountCheck) writable(c container.InspectResponse) (dirs []string) {
	if mc.record.RemoteFiles {
		return nil
	}
	for _, m := range c.Mounts {
		if m.Type == mount.TypeBind && m.RW && m.Source != "" && !names.Within(m.Destination, state.Target) {
			dirs = append(dirs, m.Source)
		}
	}
	return dirs
}
