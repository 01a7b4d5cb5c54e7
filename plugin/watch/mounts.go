// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"log/slog"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/docker/docker/api/types/container"
	apimount "github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// table is what the container's directories are on the host. The engine says so, never
// the container; our own mount does not count. What an engine that is not near mounts is
// another host's.
func table(c container.InspectResponse, fallback mount.Default, near bool, more []mount.Point) (*mount.Table, error) {
	mounts := slices.Clone(more)
	for _, m := range c.Mounts {
		if m.Destination == "" && !near {
			continue
		}
		entry := mount.Point{Target: m.Destination, ReadOnly: !m.RW, Alone: !recursive(c, m.Destination)} // without a target: what a volume is made of
		if near {
			entry.Source, entry.Bind = m.Source, m.Type == apimount.TypeBind && !within(m.Destination, state.Target)
		}
		mounts = append(mounts, entry)
	}
	if c.HostConfig != nil {
		for target := range c.HostConfig.Tmpfs {
			mounts = append(mounts, mount.Point{Target: target})
		}
	}
	return mount.NewTable(mounts, fallback)
}

// Check is what the watcher of rec's session will object to in a container as c, before
// there is any, and what should be known of it. Of c only mounts and host configuration count.
func Check(store *state.Store, rec state.Session, c container.InspectResponse) (notes []string, err error) {
	w := &Watcher{Dir: store.Dir(rec.ID), store: store, id: rec.ID, rec: rec, log: slog.New(slog.DiscardHandler)}
	w.Notify = Notify(w.load().Notify)
	w.notifier = w.newNotifier(nil)
	notes = slices.Concat(w.warnings(c), w.adapt(c), w.supplied(w.owner(c)))
	return notes, w.preflight(c)
}

// preflight refuses a container that could reach what decides over it: the state
// directory, the configuration, or a program that a call would run. A container that runs is
// also asked for what the kernel has mounted in it.
func (w *Watcher) preflight(c container.InspectResponse) error {
	if w.rec.RemoteFiles {
		return nil // it mounts nothing of this host's
	}
	look := sync.OnceValues(w.newLook) // most containers have no mount that needs it
	share, requests := state.ShareDir(w.Dir), state.ProxyDir(w.Dir)
	own := w.workspace()
	for _, m := range c.Mounts {
		if m.Type != apimount.TypeBind || m.Source == requests || own != "" && m.Source == own {
			continue
		}
		if m.Source == "" {
			return fmt.Errorf("what volume %s shows is not understood, for there is a backslash in its options: mount something else", m.Name)
		}
		source := resolved(m.Source)
		if m.Source == share || w.rec.Service != nil && source == share && path.Clean(m.Destination) == state.Target { // by its link
			if m.RW {
				return errOwnShare(m.Source)
			}
			continue
		}
		l, err := look()
		if err == nil {
			err = l.source(m.Source, m.RW, recursive(c, m.Destination))
		}
		if err != nil {
			return err
		}
	}
	if err := w.dependable(c); err != nil {
		return err
	}
	return w.runningMounts(c, look)
}

func errOwnShare(source string) error {
	return fmt.Errorf("the container could change its own share: mount %s read-only", source)
}

// recursive reports whether the engine brings along what this host has mounted below the source
// of the mount at target, as it does unless it was asked not to.
func recursive(c container.InspectResponse, target string) bool {
	if c.ContainerJSONBase == nil || c.HostConfig == nil {
		return true
	}
	return !slices.ContainsFunc(c.HostConfig.Mounts, func(m apimount.Mount) bool {
		return m.Target == target && m.BindOptions != nil && m.BindOptions.NonRecursive
	})
}

// workspace is the directory that an agent in a container is given in the state directory,
// with nothing else in it; it is empty where a link leads elsewhere.
func (w *Watcher) workspace() string {
	own := filepath.Join(w.store.Workspaces(), w.rec.ID)
	if resolved(own) != own {
		return ""
	}
	return own
}

// covers reports whether one of two directories of the host is in the other, or is it, by
// whatever names: a mount table that cannot be read proves nothing.
func covers(a, b string) bool {
	v, err := mount.ReadView()
	if err != nil {
		return true
	}
	return v.Overlap(resolved(a), resolved(b))
}

// resolved follows symbolic links where path exists.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// within reports whether path is dir or below it, by whole elements.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
