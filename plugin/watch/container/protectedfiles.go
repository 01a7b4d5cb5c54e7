// SPDX-License-Identifier: Apache-2.0

package container

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// protectedFiles compares mounts with the protected files, at one moment.
type protectedFiles struct {
	host          *mount.HostMounts
	stateDir      string                // the state directory
	stateLocation mount.Location        // the same
	files         []string              // one in each directory of the state
	refused       []protectedPath       // refused, except for the state directory
	warned        []watch.ProtectedFile // warned about
	moveHint      string                // how a person moves stateDir to a directory; "": by HOSTEXEC_HOME
}

// hint says how a person moves the state directory to a directory.
func (l *protectedFiles) hint() string { return cmp.Or(l.moveHint, "set HOSTEXEC_HOME to a directory") }

type protectedPath struct {
	watch.ProtectedFile
	resolution mount.Resolution
}

// locateProtected identifies the protected files of the session.
func (mc *mountCheck) locateProtected() (*protectedFiles, error) {
	return locateFiles(mc.protected(), mc.record.Dir)
}

// locateFiles identifies protected files. session is the directory of the session.
func locateFiles(all []watch.ProtectedFile, session string) (*protectedFiles, error) {
	v, err := mount.ReadHostMounts()
	if err != nil {
		return nil, err
	}
	l := &protectedFiles{host: v, files: []string{state.LockFile(session)}}
	for _, p := range all {
		switch p.OnMount {
		case watch.Refuse:
			l.stateDir, l.stateLocation, l.files = p.Path, v.Locate(p.Path), append(l.files, firstFiles(p.Path)...)
		case watch.RefuseWritable:
			l.refused = append(l.refused, protectedPath{p, v.Resolve(p.Path)})
		default:
			l.warned = append(l.warned, p)
		}
	}
	return l, nil
}

// refuseSource refuses the mount of source, a directory or file of this host. recursive means that the engine also
// mounts the mounts below source.
func (l *protectedFiles) refuseSource(source string, writable, recursive bool) error {
	at := l.host.Locate(source)
	if holdsDisk(at.Path, l.stateDir) {
		return fmt.Errorf("%s is the disk that hostexec's own state in %s is on: mount something narrower, or %s on another one", source, l.stateDir, l.hint())
	}
	if l.showsState(at) {
		alias := ""
		if !names.Within(at.Path, l.stateLocation.Path) && !names.Within(l.stateLocation.Path, at.Path) {
			alias = ", which has another name there"
		}
		return fmt.Errorf("the mount of %s covers hostexec's own state in %s%s: mount something narrower, or %s outside of it", source, l.stateDir, alias, l.hint())
	}
	if writable {
		for _, k := range l.refused {
			if k.resolution.Through(at) || holdsDisk(at.Path, k.Path) || at.Shows(mount.Resolved(k.Path)) {
				return k.refuse(source)
			}
		}
	}
	if !recursive {
		return nil
	}
	for _, m := range l.host.MountsBelow(at.Path) {
		name := fmt.Sprintf("%s (with %s below it)", source, m.At)
		if l.overlaps(m.FSPath()) {
			return fmt.Errorf("the mount of %s covers hostexec's own state in %s: mount something narrower, or with bind-recursive=disabled", name, l.stateDir)
		}
		for _, k := range l.refused {
			if !m.ReadOnly && k.resolution.In(m.FSPath()) { // many engines make only the mount itself read-only
				return fmt.Errorf("the container could change %s, which %s, through the mount of %s: mount something narrower, or with bind-recursive=disabled", k.Path, k.Does, name)
			}
		}
	}
	return nil
}

func (k protectedPath) refuse(source string) error {
	return fmt.Errorf("the container could change %s, which %s, through the mount of %s: mount that read-only, or %s", k.Path, k.Does, source, k.Instead)
}

// showsState reports whether at is the state directory, a part of it, or above it.
func (l *protectedFiles) showsState(at mount.Location) bool {
	return l.host.Overlap(at.Path, l.stateDir) || slices.ContainsFunc(l.files, at.Shows)
}

// firstFiles returns one regular file of each directory in stateDir, where there is one.
func firstFiles(stateDir string) (files []string) {
	for _, d := range firstEntries(stateDir) {
		if !d.IsDir() {
			continue // a named pipe would block
		}
		at := filepath.Join(stateDir, d.Name())
		entries := firstEntries(at)
		i := slices.IndexFunc(entries, func(e os.DirEntry) bool { return e.Type().IsRegular() })
		if i >= 0 {
			files = append(files, filepath.Join(at, entries[i].Name()))
		}
	}
	return files
}

// firstEntries returns the first entries of a directory, which may have very many.
func firstEntries(dir string) []os.DirEntry {
	f, err := os.Open(dir)
	if err != nil {
		return nil // the directory does not exist yet
	}
	defer f.Close()
	entries, _ := f.ReadDir(32)
	return entries
}

// overlaps reports whether a mount shows the state directory, a part of it, or a directory above it.
func (l *protectedFiles) overlaps(p mount.FSPath) bool {
	return p.In(l.stateLocation.FSPath) || l.stateLocation.FSPath.In(p)
}

// warn lists the private files that a writable mount of source exposes, except for those that are refused.
func (l *protectedFiles) warn(source string) (list []string) {
	at := l.host.Locate(source).Path
	for _, n := range l.warned {
		if l.host.Overlap(at, n.Path) {
			list = append(list, fmt.Sprintf("the container can change %s, which %s, through the mount of %s", n.Path, n.Does, source))
		}
	}
	return list
}
