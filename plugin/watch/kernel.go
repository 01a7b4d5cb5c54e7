// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// What the engine says of a running container is by which names its directories were mounted.
// Who can write above one of these may have put it back meanwhile: the kernel knows which it
// was. It tells everybody, in /proc/PID/mountinfo (proc_pid_mountinfo(5)).

// kernelMount is a mount as the kernel has it: the directory root of the file system dev.
type kernelMount struct{ dev, root, at string }

// mountedState refuses a container that runs, and has something of the state directory mounted
// but what it was given. An engine whose processes are not seen here leaves it at the names.
func (w *Watcher) mountedState(c container.InspectResponse) error {
	if c.ContainerJSONBase == nil || c.State == nil || c.State.Pid <= 0 {
		return nil
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", c.State.Pid))
	if err != nil || !strings.Contains(string(text), c.ID) { // of its /etc/hostname: else it is another process
		return nil
	}
	ours, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("look at what is mounted: %w", err)
	}
	here := kernelMounts(string(ours))
	home := placeOf(here, resolved(w.store.Home))
	given := []kernelMount{placeOf(here, resolved(state.ShareDir(w.Dir))), placeOf(here, resolved(state.ProxyDir(w.Dir)))}
	if own := w.workspace(); own != "" {
		given = append(given, placeOf(here, own))
	}
	for _, m := range kernelMounts(string(text)) {
		if m.dev != home.dev || !within(m.root, home.root) && !within(home.root, m.root) {
			continue
		}
		was := false
		for _, g := range given {
			was = was || m.root == g.root
		}
		if !was {
			return fmt.Errorf("what is mounted at %s covers hostexec's own state in %s: a directory has been replaced by a link before it was mounted", m.at, w.store.Home)
		}
	}
	return nil
}

// placeOf is which directory of which file system p is: the mount that is nearest has it.
func placeOf(all []kernelMount, p string) (place kernelMount) {
	for _, m := range all {
		if within(p, m.at) && (place.at == "" || within(m.at, place.at)) { // of two at one place, the later is on top
			place = m
		}
	}
	return kernelMount{place.dev, path.Join(place.root, strings.TrimPrefix(p, place.at)), p}
}

// kernelMounts reads a mountinfo.
func kernelMounts(text string) (all []kernelMount) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 4 {
			all = append(all, kernelMount{f[2], unescaped(f[3]), unescaped(f[4])})
		}
	}
	return all
}

// unescaped undoes the \040 and its like of mountinfo.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
