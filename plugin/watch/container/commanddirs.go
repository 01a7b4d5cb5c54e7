// SPDX-License-Identifier: Apache-2.0

package container

import (
	"fmt"
	"path"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// defaultDir returns the directory where commands run if the container mounts no directory of this host. The directory
// where run was typed stands only for the container's working directory. A program that cleans up another directory
// must not clean up this one. --workdir-host overrides it.
func defaultDir(rec state.Session, workdir string) mount.Default {
	if rec.WorkdirHost != "" {
		return mount.Default{Source: rec.WorkdirHost, Target: workdir, All: true}
	}
	return mount.Default{Source: rec.InvokedIn, Target: workdir}
}

// unusedFlag returns a warning if --workdir-host has no effect, or nothing.
func unusedFlag(t *mount.Table) []string {
	if t.Unused() == "" {
		return nil
	}
	return []string{"--workdir-host " + names.Quoted(t.Unused()) + " has no effect, because directories of this host are mounted: commands run in these"}
}

// commandDirs describes the directories of this host in which commands run.
func commandDirs(t *mount.Table) string {
	switch d := t.Default(); {
	case d.All:
		return "commands run in " + d.Source + ", from whatever directory the container calls them"
	case d.Source != "":
		at := d.Target
		if !path.IsAbs(at) {
			at = "its working directory"
		}
		return fmt.Sprintf("commands run in %s, and only if the container calls them in %s: --workdir-host DIR allows all directories", d.Source, at)
	}
	var list []string
	mounts, _ := t.MountsFor("/")
	for _, m := range mounts {
		switch {
		case m.Source == "": // a volume, for example, over a part of another mount
		case m.Source == m.Target:
			list = append(list, m.Source)
		default:
			list = append(list, m.Source+" (at "+m.Target+")")
		}
	}
	if len(list) == 0 {
		return "commands run nowhere: no directory of this host that is mounted can be opened"
	}
	return "commands run in the directories of this host that are mounted: " + strings.Join(list, ", ")
}
