// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// A directory of this host's PATH may lie in a mount: then its programs are the container's,
// and so is what a variable of the environment names there. Commands run without these.

// sources are what of this host c shows. What is mounted below a read-only one can be written.
func (w *Watcher) sources(c container.InspectResponse) (list []mount.Point) {
	if w.rec.RemoteFiles {
		return nil
	}
	for _, m := range c.Mounts {
		if m.Source != "" && !within(m.Destination, state.Target) {
			list = append(list, mount.Point{Source: m.Source, ReadOnly: !m.RW, Alone: !recursive(c, m.Destination)})
		}
	}
	return list
}

// owner knows what c can write, and what other containers that make calls of this session can.
// It holds no directory.
func (w *Watcher) owner(c container.InspectResponse) *mount.Table {
	t, _ := mount.NewTable(slices.Concat(w.sources(c), w.beyond), mount.Default{}) // it fails only for a Default with a directory
	return t
}

// Requested are the directories that those can write who make the requests of docker hostexec
// proxy: where these lie, and where commands run, which a container may have been given. That is
// not so of a whole home directory, from which programs and settings come.
func Requested(rec state.Session) (list []mount.Point) {
	if home, err := os.UserHomeDir(); err != nil || !within(resolved(home), resolved(rec.InvokedIn)) {
		list = append(list, mount.Point{Source: rec.InvokedIn})
	}
	for _, name := range rec.Names() {
		requests, _ := rec.Proxy.Dir(name)
		list = append(list, mount.Point{Source: requests})
	}
	return list
}

// adapt has commands that were found in a part of PATH that c supplies be those that the rest
// of it has. It returns what a person should know of that.
func (w *Watcher) adapt(c container.InspectResponse) (notes []string) {
	owner := w.owner(c)
	path, _ := executor.Path(osenv.Get(w.environ(), "PATH"), owner)
	all := slices.Clone(w.proxied()) // calls of an earlier container may still be decided by the old ones
	for i := range all {
		cmd := &all[i]
		if !cmd.Found || !owner.ControlsFilesIn(filepath.Dir(cmd.Path)) {
			continue
		}
		// Where there is none, preflight has the words.
		if other, ok := osenv.LookPath(filepath.Base(cmd.Path), path); ok {
			notes = append(notes, fmt.Sprintf("--proxy %s runs %s, and not %s, which the container can write", cmd.Name, other, cmd.Path))
			cmd.Path = other
		}
	}
	w.stateMu.Lock()
	defer w.stateMu.Unlock()
	n := len(w.rec.Commands)
	w.rec.Commands = all[:n:n]
	if w.rec.Shell != nil {
		w.rec.Shell = &all[n]
	}
	return notes
}

// dependable refuses a container that could write what one of the files that are kept depends
// on: by another name of a mount, as the interpreter of a script, or as a library.
func (w *Watcher) dependable(c container.InspectResponse) error {
	owner := w.owner(c)
	path, _ := executor.Path(osenv.Get(w.environ(), "PATH"), owner)
	for _, k := range w.protected() {
		at, ok := executor.WritableDependency(k.path, path, owner)
		switch {
		case !ok || k.against != refuseWritable:
		case at == k.path:
			return fmt.Errorf("the container could change %s, which %s: mount what it is in read-only, or %s", at, k.does, k.instead)
		default:
			return fmt.Errorf("the container could change %s, which is code of %s, which %s: mount it read-only, or %s", at, k.path, k.does, k.instead)
		}
	}
	if at, ok := w.notifierOf(owner); ok {
		return fmt.Errorf("the container could change %s, which notify.command names: mount it read-only, or %s", at, narrower)
	}
	return nil
}

// notifierOf returns a file in notify.command that owner can change. What a container requests
// starts that, and nobody is asked: what an interpreter reads is as good as a program.
func (w *Watcher) notifierOf(owner executor.ContainerAccess) (at string, ok bool) {
	for _, word := range w.notifier.Command {
		if at, ok = executor.WritablePath(word, owner); ok {
			return at, true
		}
	}
	return "", false
}

// supplied returns what a person should know of PATH, of variables, and of the configuration's
// commands in a session with such an owner.
func (w *Watcher) supplied(owner *mount.Table) (notes []string) {
	c := w.config.Load()
	if c == nil {
		c = w.load()
	}
	for _, p := range Supplied(c.Policy(nil), w.environ(), owner) {
		text := p.Text
		if p.Rule != "" {
			text = p.Rule + ": " + text
		}
		notes = append(notes, text)
	}
	return notes
}

// alsoBy notes what another container that makes calls of this session can write.
func (w *Watcher) alsoBy(c container.InspectResponse) (fresh []mount.Point) {
	for _, m := range w.sources(c) {
		if !slices.Contains(w.beyond, m) {
			w.beyond = append(w.beyond, m)
			fresh = append(fresh, m)
		}
	}
	return fresh
}

// widen has commands run without what other containers supply, from here on.
func (w *Watcher) widen(fresh []mount.Point) {
	w.stateMu.Lock()
	defer w.stateMu.Unlock()
	old := w.server.State()
	if len(fresh) == 0 || old == nil {
		return
	}
	sc := *old
	sc.Dirs.Also(fresh)
	var found []executor.Finding
	sc.Environ, found = executor.Environ(w.environ(), sc.Dirs)
	for _, f := range found {
		w.log.Warn("environment of commands", "finding", f.String())
	}
	w.server.SetState(&sc)
}

// environ is the environment that this process was started with. Its own PATH loses what a
// container can write, and what is lost there is still reported, and may be back after a restart.
func (w *Watcher) environ() []string {
	if w.server != nil {
		return w.server.Environ
	}
	return os.Environ()
}
