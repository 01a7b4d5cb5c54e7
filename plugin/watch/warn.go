// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// warn writes down what there is to know of the session's container, in the record that is saved
// next, in place of what was known of the one before. found are its warnings.
func (w *Watcher) warn(c container.InspectResponse, found []string) {
	list := append(slices.Clone(found), w.Config.Supplied(w.dirs)...)
	if w.unreachable != "" {
		list = append(list, w.unreachable)
	}
	w.Warnings.Set(append(list, w.hostCode(w.writable(c), "which the container can write")...))
}

// rewarn is warn of a container that was started again, and saves it.
func (w *Watcher) rewarn(c container.InspectResponse, found []string) {
	w.stateMu.Lock() // the container may be renamed meanwhile
	defer w.stateMu.Unlock()
	old := w.Record.Warnings
	if w.warn(c, found); slices.Equal(old, w.Record.Warnings) {
		return
	}
	if err := w.Record.Save(); err != nil {
		w.log.Error("write down warnings", "error", err)
	}
}

// hostCode names the commands that run code of others, among those that the session has on this host, by its flags or by rules.
func (w *Watcher) hostCode(dirs []string, why string) []string {
	sc := w.server.State()
	if sc == nil || len(dirs) == 0 {
		return nil
	}
	here := slices.DeleteFunc(slices.Clone(w.Record.Proxied()), func(c state.Command) bool { return sc.Policy.Place(c.Name).Image != "" })
	for _, name := range sc.Policy.Names() {
		known := slices.ContainsFunc(here, func(c state.Command) bool { return c.Name == name })
		if !known && sc.Policy.Place(name).Image == "" {
			here = append(here, state.Command{Name: name, Action: "rules"})
		}
	}
	return HostCode(sc.Policy, here, strings.Join(dirs, ", ")+", "+why, policy.GradeCertain, policy.GradePossible)
}

// writable returns the directories of this host that a container can write, but for the session's own.
func (w *Watcher) writable(c container.InspectResponse) (dirs []string) {
	if w.Record.RemoteFiles {
		return nil
	}
	for _, m := range c.Mounts {
		if m.Type == mount.TypeBind && m.RW && m.Source != "" && !within(m.Destination, state.Target) {
			dirs = append(dirs, m.Source)
		}
	}
	return dirs
}
