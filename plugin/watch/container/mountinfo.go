// SPDX-License-Identifier: Apache-2.0

package container

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// The engine reports the names by which a container's directories were mounted. A process that can write above such a
// directory may have replaced it for the time of the mount. The kernel's table, /proc/PID/mountinfo, shows the mounted
// directories, and every user may read it.

// runningMounts refuses a running container with a mount of the state directory, except for the session's own mounts.
// It also refuses a writable mount of another protected file. If the container's processes are not visible here, only
// names are checked.
func (mc *mountCheck) runningMounts(c container.InspectResponse, locate func() (*protectedFiles, error)) error {
	text, err := mountInfoOf(c)
	if err != nil || text == "" {
		return err
	}
	l, err := locate()
	if err != nil {
		return err
	}
	share := l.host.Locate(state.ShareDir(mc.record.Dir)).FSPath
	given := []mount.FSPath{share, l.host.Locate(state.RequestsDir(mc.record.Dir)).FSPath}
	if own := mc.record.OwnWorkspace(); own != "" {
		given = append(given, l.host.Locate(own).FSPath)
	}
	if err := l.refuseMounts(text, share, given); err == nil {
		return nil
	}
	// The table may have changed while it was read: it is read in parts.
	if text, err = mountInfoOf(c); err != nil || text == "" {
		return err
	}
	return l.refuseMounts(text, share, given)
}

// refuseMounts checks each mount of a container's mount table.
func (l *protectedFiles) refuseMounts(table string, share mount.FSPath, given []mount.FSPath) error {
	all, err := mount.ParseMountinfo(table)
	if err != nil {
		return fmt.Errorf("read the container's mount table: %w", err)
	}
	for _, m := range all {
		if isRepeated(m, all) {
			continue
		}
		if err := l.refuseMounted(m, share, given); err != nil {
			return exposedError{err}
		}
	}
	return nil
}

// isRepeated reports whether another mount of the same directory covers m. In engine 20.10, docker cp mounts a
// container's mounts once more on this host, writable. They propagate into the container below the existing
// ones, where no process can reach them.
func isRepeated(m mount.Info, all []mount.Info) bool {
	return slices.ContainsFunc(all, func(c mount.Info) bool {
		return c.Parent == m.ID && c.At == m.At && c.FSPath() == m.FSPath()
	})
}

// refuseMounted checks one mount.
func (l *protectedFiles) refuseMounted(m mount.Info, share mount.FSPath, given []mount.FSPath) error {
	if l.overlaps(m.FSPath()) {
		for _, g := range given {
			if m.FSPath() == g && (m.ReadOnly || g != share) {
				return nil
			}
		}
		if m.FSPath() == share {
			return errOwnShare(m.At)
		}
		return fmt.Errorf("the mount at %s in the container covers hostexec's own state in %s: its source was another directory when it was mounted", m.At, l.stateDir)
	}
	if m.ReadOnly {
		return nil
	}
	for _, k := range l.refused {
		if k.resolution.In(m.FSPath()) {
			return k.refuse("what the container has at " + m.At)
		}
	}
	return nil
}

// mountInfoOf returns the mount table of a running container, or "" if its first process is not visible on this host.
// The cgroup or the mounts of the process must name the container, because a pid of another host is another process
// here.
func mountInfoOf(c container.InspectResponse) (text string, err error) {
	if c.ContainerJSONBase == nil || c.State == nil || c.State.Pid <= 0 || c.ID == "" {
		return "", nil
	}
	proc := fmt.Sprintf("/proc/%d/", c.State.Pid)
	text, err = mount.ReadMountinfo(proc + "mountinfo")
	switch {
	case errors.Is(err, mount.ErrTooLong):
		return "", fmt.Errorf("read the container's mount table: %w", err)
	case err != nil:
		return "", nil // it has ended
	case strings.Contains(text, c.ID): // in the mount of /etc/hostname
		return text, nil
	}
	cgroup, err := os.ReadFile(proc + "cgroup")
	if err != nil || !strings.Contains(string(cgroup), c.ID) {
		return "", nil
	}
	return text, nil
}
