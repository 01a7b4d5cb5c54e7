// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Who starts a session is told what makes it dangerous on a terminal, and a script is not. So it is
// written down with the session as well, and status and inspect show it for as long as that is there.

const (
	maxWarnings = 64   // of a session
	maxWarning  = 1024 // bytes of one
)

// HostCode returns a sentence for each of grades. It names the commands of this grade that run on this
// host: they run code from files in from, which others can write.
func HostCode(p *policy.Policy, commands []state.Command, from string, grades ...policy.Grade) (texts []string) {
	for _, grade := range grades {
		var names []string
		for _, c := range commands {
			if c.Action != "deny" && !p.Place(c.Name).Confined() && p.Grade(c.Name, c.Path) == grade {
				names = append(names, c.Name)
			}
		}
		if len(names) > 0 {
			texts = append(texts, grade.Label()+": "+grade.Sentence(from, names...))
		}
	}
	return texts
}

// warn writes down what there is to know of the session's container, in the record that is saved
// next, in place of what was known of the one before. found are its warnings.
func (w *Watcher) warn(c container.InspectResponse, found []string) {
	list := append(slices.Clone(found), w.supplied(w.dirs)...)
	if w.unreachable != "" {
		list = append(list, w.unreachable)
	}
	w.warnOf(append(list, w.hostCode(w.writable(c), "which the container can write")...))
}

// warnOf is warn of those texts.
func (w *Watcher) warnOf(list []string) {
	shown := make([]string, 0, len(list))
	for _, text := range list[:min(len(list), maxWarnings)] {
		shown = append(shown, printable(text))
	}
	w.rec.Warnings = shown
	w.warned.Store(&shown)
}

// printable is a warning as it is shown: the beginning of text, in printable ASCII.
func printable(text string) string {
	return string(names.ASCII([]byte(text[:min(len(text), maxWarning)])))
}

// rewarn is warn of a container that was started again, and saves it.
func (w *Watcher) rewarn(c container.InspectResponse, found []string) {
	w.stateMu.Lock() // the container may be renamed meanwhile
	defer w.stateMu.Unlock()
	old := w.rec.Warnings
	if w.warn(c, found); slices.Equal(old, w.rec.Warnings) {
		return
	}
	if err := w.save(); err != nil {
		w.log.Error("write down warnings", "error", err)
	}
}

// hostCode names the commands that run code of others, among those that the session has on this host, by its flags or by rules.
func (w *Watcher) hostCode(dirs []string, why string) []string {
	sc := w.server.State()
	if sc == nil || len(dirs) == 0 {
		return nil
	}
	here := slices.DeleteFunc(slices.Clone(w.proxied()), func(c state.Command) bool { return sc.Policy.Place(c.Name).Image != "" })
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
	if w.rec.RemoteFiles {
		return nil
	}
	for _, m := range c.Mounts {
		if m.Type == mount.TypeBind && m.RW && m.Source != "" && !within(m.Destination, state.Target) {
			dirs = append(dirs, m.Source)
		}
	}
	return dirs
}

// known is what there is to know of the session now: of its container, of others that have its
// share, and of the configuration.
func (w *Watcher) known() (list []string) {
	for _, p := range []*[]string{w.warned.Load(), w.warnedOthers.Load()} {
		if p != nil {
			list = append(list, *p...)
		}
	}
	if c := w.config.Load(); c != nil {
		for _, text := range c.Warnings {
			list = append(list, printable(text))
		}
	}
	return list[:min(len(list), maxWarnings)]
}
