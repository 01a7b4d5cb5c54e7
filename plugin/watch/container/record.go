// SPDX-License-Identifier: Apache-2.0

package container

import (
	"slices"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// setWarnings replaces the warnings about the session's container in the record, which the caller saves. found are the
// result of mountCheck.warnings.
func (m *Mode) setWarnings(c container.InspectResponse, found []string) {
	list := append(slices.Clone(found), m.s.Config.WritableCode(m.mounts.access(c))...)
	if m.s.Carriers.HTTPUnreachable != "" {
		list = append(list, m.s.Carriers.HTTPUnreachable)
	}
	m.s.Warnings.Set(append(list, m.s.Calls.HostCode(m.mounts.writable(c), "which the container can write")...))
}

// bound tells the launcher that the container may start, and with which warnings and directories.
func (m *Mode) bound(conn *watch.LauncherConn, c container.InspectResponse, warnings []string) {
	dirs := m.s.Calls.Dirs()
	conn.Bound(append(warnings, unusedFlag(dirs)...), commandDirs(dirs), m.mounts.writable(c))
}

// noteContainer saves the session's container, the paths that it can write, and its warnings.
func (m *Mode) noteContainer(c container.InspectResponse, found []string) error {
	m.s.Record.Change(func(rec *state.Session) {
		rec.Container, rec.ContainerName, rec.Image = c.ID, nameOf(c), c.Config.Image
		rec.Killed = ""
		rec.Writable = m.s.Calls.Dirs().WritableSources()
	})
	m.setWarnings(c, found)
	return m.s.Record.Save()
}

// updateWarnings saves the warnings about a restarted container, and the paths that it can write.
func (m *Mode) updateWarnings(c container.InspectResponse, found []string) {
	old := m.s.Record.Session()
	m.s.Record.Change(func(rec *state.Session) { rec.Writable = m.s.Calls.Dirs().WritableSources() })
	m.setWarnings(c, found)
	now := m.s.Record.Session()
	if slices.Equal(old.Warnings, now.Warnings) && slices.Equal(old.Writable, now.Writable) {
		return
	}
	if err := m.s.Record.Save(); err != nil {
		m.s.Log.Error("write down warnings", "error", err)
	}
}

// writable returns the directories of this host that a container can write, without the session's own. They are sorted,
// because the engine's order of mounts varies.
func (mc *mountCheck) writable(c container.InspectResponse) (dirs []string) {
	if mc.record.Session().RemoteFiles {
		return nil
	}
	for _, m := range c.Mounts {
		if m.Type == mount.TypeBind && m.RW && m.Source != "" && !names.Within(m.Destination, state.Target) {
			dirs = append(dirs, m.Source)
		}
	}
	slices.Sort(dirs)
	return dirs
}
