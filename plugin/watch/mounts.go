// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// table is what the container's directories are on the host. The engine says so, never
// the container; our own mount does not count. What an engine that is not near mounts is
// another host's.
func table(c container.InspectResponse, fallback string, near bool) (*dir.Table, error) {
	var mounts []dir.Mount
	for _, m := range c.Mounts {
		if m.Destination == "" { // what a volume is made of
			continue
		}
		mounts = append(mounts, dir.Mount{
			Target: m.Destination, Source: m.Source,
			Bind: near && m.Type == mount.TypeBind && !within(m.Destination, state.Target), ReadOnly: !m.RW,
		})
	}
	if c.HostConfig != nil {
		for target := range c.HostConfig.Tmpfs {
			mounts = append(mounts, dir.Mount{Target: target})
		}
	}
	return dir.NewTable(mounts, fallback)
}

// Check is what the watcher of rec's session will object to in a container as c, before
// there is any, and what should be known of it. Of c only mounts and host configuration count.
func Check(store *state.Store, rec state.Session, c container.InspectResponse) (notes []string, err error) {
	w := &Watcher{Dir: store.Dir(rec.ID), store: store, id: rec.ID, rec: rec, log: slog.New(slog.DiscardHandler)}
	w.Notify = Notify(w.load().Notify)
	w.notifier = w.newNotifier(nil)
	return warnings(c), w.preflight(c)
}

// preflight refuses a container that could reach what decides over it: the state
// directory, the configuration, or a program that a call would run.
func (w *Watcher) preflight(c container.InspectResponse) error {
	if w.rec.Apart {
		return nil // it mounts nothing of this host's
	}
	share, requests := state.ShareDir(w.Dir), state.ProxyDir(w.Dir)
	own := w.workspace()
	for _, m := range c.Mounts {
		if m.Type != mount.TypeBind || m.Source == requests || own != "" && m.Source == own {
			continue
		}
		if m.Source == "" {
			return fmt.Errorf("what volume %s shows is not understood, for there is a backslash in its options: mount something else", m.Name)
		}
		source := resolved(m.Source)
		if m.Source == share || w.rec.Service != nil && source == share && path.Clean(m.Destination) == state.Target { // by its link
			if m.RW {
				return fmt.Errorf("the container could change its own share: mount %s read-only", m.Source)
			}
			continue
		}
		if holds(source, w.store.Home) {
			return fmt.Errorf("%s is the disk that hostexec's own state in %s is on: mount something narrower, or set HOSTEXEC_HOME to a directory on another one", m.Source, w.store.Home)
		}
		if covers(source, w.store.Home) {
			return fmt.Errorf("the mount of %s covers hostexec's own state in %s: mount something narrower, or set HOSTEXEC_HOME to a directory outside of it", m.Source, w.store.Home)
		}
		if !m.RW {
			continue
		}
		for _, k := range w.kept() {
			if leadsInto(k.path, source) || holds(source, k.path) {
				return fmt.Errorf("the container could change %s, which %s, through the mount of %s: mount that read-only, or %s", k.path, k.does, m.Source, k.instead)
			}
		}
	}
	return w.mountedState(c)
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

// kept is a file that no container may change while it decides or runs for it.
type kept struct{ path, does, instead string }

func (w *Watcher) kept() (all []kept) {
	for _, cmd := range w.proxied() {
		if cmd.Where != nil && cmd.Where.Image != "" {
			continue // its path is the image's
		}
		all = append(all, kept{cmd.Path, "--proxy " + cmd.Name + " runs", "proxy a program outside of it"})
	}
	const narrower = "something narrower"
	for _, path := range w.notifier.Programs() {
		all = append(all, kept{path, "tells you that requests wait", narrower})
	}
	if exe, err := os.Executable(); err == nil {
		all = append(all, kept{exe, "is hostexec itself", narrower})
	}
	if c := w.config.Load(); c != nil {
		proposal := config.Source{Workspace: w.rec.Workspace}.Proposal() // which is pinned
		for _, path := range c.Files() {
			if path != proposal {
				all = append(all, kept{path, "says what it may run", narrower})
			}
		}
	}
	return all
}

// covers reports whether one of two directories of the host is in the other, or is it.
func covers(a, b string) bool {
	a, b = resolved(a), resolved(b)
	return within(a, b) || within(b, a)
}

// leadsInto reports whether path is below source, or goes there by a link on its way.
func leadsInto(path, source string) bool {
	return path != "" && slices.ContainsFunc(append(dir.Way(path), path), func(at string) bool { return within(at, source) })
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

// warnings tells what makes the container's walls thinner than the user may think.
func warnings(c container.InspectResponse) (list []string) {
	h := c.HostConfig
	if h == nil {
		return nil
	}
	if h.Privileged {
		list = append(list, "the container is privileged: it can take over this host without hostexec")
	}
	if h.PidMode.IsHost() || slices.ContainsFunc(c.Mounts, func(m container.MountPoint) bool { return m.Type == mount.TypeBind && resolved(m.Source) == "/proc" }) {
		list = append(list, "the container sees the host's processes (--pid host, or a mount of /proc): it can signal and inspect those of its own uid")
	}
	if h.NetworkMode.IsHost() {
		list = append(list, "the container is on the host's network (--network host): it reaches everything that listens on localhost")
	}
	for _, name := range h.CapAdd {
		if what, ok := dangerous[strings.TrimPrefix(strings.ToUpper(name), "CAP_")]; ok {
			list = append(list, fmt.Sprintf("the container has the capability %s: it can %s", strings.ToUpper(name), what))
		}
	}
	if len(h.Devices) > 0 {
		list = append(list, "the container has devices of the host's (--device): what is behind them is its own")
	}
	for _, m := range c.Mounts {
		if m.Type != mount.TypeVolume && engineIn(m.Source) {
			list = append(list, "the container has the engine's socket: it can start any other container, and so take over this host")
		}
		if p := m.Propagation; p == mount.PropagationShared || p == mount.PropagationRShared {
			list = append(list, fmt.Sprintf("what the container mounts below %s, the host has mounted, too (%s)", m.Destination, p))
		}
	}
	return list
}

// dangerous are capabilities with which a container does not need hostexec, and what it can
// do with each.
var dangerous = map[string]string{
	"ALL":             "take over this host",
	"SYS_ADMIN":       "mount what it likes, and so take over this host",
	"SYS_MODULE":      "load code into this host's kernel",
	"SYS_RAWIO":       "read and write this host's memory and ports",
	"SYS_PTRACE":      "change other processes that it sees",
	"DAC_READ_SEARCH": "open files of this host by their numbers",
}

// engineIn reports whether source is an engine's socket, or a directory that holds one: one of
// those where it usually is, or of sockets.
func engineIn(source string, sockets ...string) bool {
	if filepath.Base(source) == "docker.sock" {
		return true
	}
	source = resolved(source)
	sockets = append([]string{"/run/docker.sock", "/run/containerd/containerd.sock"}, sockets...)
	return slices.ContainsFunc(sockets, func(sock string) bool { return within(sock, source) })
}
