// SPDX-License-Identifier: Apache-2.0

package container

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/docker/docker/api/types/container"
	apimount "github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
)

// warnings returns the settings that weaken the container's isolation, and the user's own files that it can
// change.
func (mc *mountCheck) warnings(c container.InspectResponse) []string {
	list := warnings(c)
	if mc.record.Session().RemoteFiles {
		return list
	}
	locate := sync.OnceValues(mc.locateProtected) // few containers need it
	for _, m := range c.Mounts {
		if m.Type != apimount.TypeBind || !m.RW || m.Source == "" {
			continue
		}
		l, err := locate()
		if err != nil {
			return append(list, err.Error())
		}
		list = append(list, l.warn(m.Source)...)
	}
	return list
}

// warnings returns the settings and mounts that weaken the container's isolation.
func warnings(c container.InspectResponse) []string {
	if c.HostConfig == nil {
		return nil
	}
	return append(isolationWarnings(c.HostConfig, c.Mounts), mountWarnings(c.Mounts)...)
}

// isolationWarnings returns the settings that weaken the container's isolation, and its view of /proc.
func isolationWarnings(h *container.HostConfig, mounts []container.MountPoint) (list []string) {
	if h.Privileged {
		list = append(list, "the container is privileged: it can take over this host without hostexec")
	}
	if h.PidMode.IsHost() || slices.ContainsFunc(mounts, func(m container.MountPoint) bool {
		return m.Type == apimount.TypeBind && mount.Resolved(m.Source) == "/proc"
	}) {
		list = append(list, "the container sees the host's processes (--pid host, or a mount of /proc): it can signal and inspect those of its own uid")
	}
	if h.NetworkMode.IsHost() {
		list = append(list, "the container is on the host's network (--network host): it reaches everything that listens on localhost")
	}
	if h.IpcMode.IsHost() {
		list = append(list, "the container shares the memory of the host's processes (--ipc host): it can change what those of its own uid share")
	}
	for _, o := range h.SecurityOpt {
		if name, value, _ := strings.Cut(strings.Replace(o, ":", "=", 1), "="); value == "unconfined" {
			list = append(list, fmt.Sprintf("the container runs without %s (--security-opt %s)", name, o))
		}
	}
	for _, name := range h.CapAdd {
		if what, ok := dangerousCapabilities[strings.TrimPrefix(strings.ToUpper(name), "CAP_")]; ok {
			list = append(list, fmt.Sprintf("the container has the capability %s: it can %s", strings.ToUpper(name), what))
		}
	}
	if len(h.Devices) > 0 {
		list = append(list, "the container has devices of the host's (--device): what is behind them is its own")
	}
	return list
}

// mountWarnings returns the mounts that weaken the container's isolation.
func mountWarnings(mounts []container.MountPoint) (list []string) {
	for _, m := range mounts {
		switch {
		case m.Type == apimount.TypeVolume:
		case callcontainer.HasEngineSocket(m.Source):
			list = append(list, "the container has the engine's socket: it can start any other container, and so take over this host")
		case mount.OverlapsAny(m.Source, loginSockets()...):
			list = append(list, fmt.Sprintf("the container has sockets of your login session, in %s: by these it can start programs as you", m.Source))
		case hasXSocket(m.Source):
			list = append(list, fmt.Sprintf("the container has the X server's socket, in %s: it can type into your windows, and so answer its own requests", m.Source))
		}
		if p := m.Propagation; p == apimount.PropagationShared || p == apimount.PropagationRShared {
			list = append(list, fmt.Sprintf("what the container mounts below %s, the host has mounted, too (%s)", m.Destination, p))
		}
	}
	return list
}

// dangerousCapabilities are capabilities with which a container can take over the host, with a description of each.
var dangerousCapabilities = map[string]string{
	"ALL":             "take over this host",
	"SYS_ADMIN":       "mount any file system, and so take over this host",
	"SYS_MODULE":      "load code into this host's kernel",
	"SYS_RAWIO":       "read and write this host's memory and ports",
	"SYS_PTRACE":      "change other processes that it sees",
	"DAC_READ_SEARCH": "open files of this host by their numbers",
}

// xServers is the directory of X servers' sockets. A client of an X server can send keys to any window.
const xServers = "/tmp/.X11-unix"

// hasXSocket reports whether source contains the socket of an X server, and not only a directory for it.
func hasXSocket(source string) bool {
	_, err := os.Stat(xServers)
	return mount.OverlapsAny(source, xServers) && (err == nil || names.Within(mount.Resolved(source), xServers))
}

// loginSockets returns the paths of the session bus and of systemd in the user's login session.
func loginSockets() []string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	}
	return []string{filepath.Join(dir, "bus"), filepath.Join(dir, "systemd")}
}
