// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
)

var errReplaced = errors.New("it was replaced meanwhile")

// Share returns the container's directories of the host as mounts for another container, for a command in cwd, and the path
// of cwd there. A Point without a Source is where another mount of this container, such as a volume, covers a part of a
// directory of the host: the other container must not see that part. Sources are paths, which may lead elsewhere by the
// time that they are mounted: check them with Shown.
func (t *Table) Share(cwd string) (mounts []Point, at string) {
	at = path.Clean(cwd)
	own, rest := t.find(at)
	if own != nil && own == t.fallback {
		at = path.Join(own.source, rest)
		return []Point{{Target: own.source, Source: own.source, Bind: true}}, at
	}
	for i := range t.mounts {
		m := &t.mounts[i]
		switch over, _ := t.find(m.target); {
		case over != m: // another mount covers it
		case m.shared():
			mounts = append(mounts, Point{Target: m.target, Source: m.source, Bind: true, ReadOnly: m.readOnly})
		case t.within(m.target):
			mounts = append(mounts, Point{Target: m.target, File: m.file, ReadOnly: true})
		}
	}
	return mounts, at
}

// shared reports whether m is a directory of the host that is held.
func (m *mount) shared() bool { return m.bind && m.err == nil }

// within reports whether a directory of the host is mounted above target.
func (t *Table) within(target string) bool {
	for i := range t.mounts {
		if rest, below := names.CutDir(target, t.mounts[i].target); below && rest != "." && t.mounts[i].shared() {
			return true
		}
	}
	return false
}

// Shown returns an error unless the container with the root directory root has, at each of mounts, the directory that is
// held here. The mounts are from Share. Below another of them no link may be on the way: a container that can write there
// could have led the engine to mount the directory elsewhere.
func (t *Table) Shown(root int, mounts []Point) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.closed {
		return errors.New("look at another container's mounts: the mount table is closed")
	}
	for _, m := range mounts {
		if err := t.shown(dir.Borrow(root), m, mounts); err != nil {
			return fmt.Errorf("%s is not what the caller has there: %w", strconv.QuoteToASCII(m.Target), err)
		}
	}
	return nil
}

func (t *Table) shown(root *dir.Dir, m Point, mounts []Point) error {
	if m.Source == "" {
		above := innermostMount(m.Target, mounts)
		if above == nil {
			return nil // the covered directory is not there
		}
		outer, err := openShown(root, *above, mounts)
		if err != nil {
			return err
		}
		defer outer.Close()
		rest, _ := names.CutDir(m.Target, above.Target)
		return outer.Covered(rest)
	}
	shown, err := openShown(root, m, mounts)
	if err != nil {
		return err
	}
	defer shown.Close()
	held, _ := t.find(m.Target)
	if t.fallback != nil { // Share gives it its path on the host
		held = t.fallback
	}
	if held == nil || held.held == nil || !dir.Same(shown.FD(), held.held.FD()) {
		return errReplaced
	}
	return nil
}

// openShown holds the directory that a container has at m's target. It opens it below the innermost of mounts above the
// target, or else below the root, which only the image controls.
func openShown(root *dir.Dir, m Point, mounts []Point) (*dir.Dir, error) {
	above := innermostMount(m.Target, mounts)
	if above == nil {
		return root.HoldInRoot(strings.TrimPrefix(m.Target, "/"))
	}
	outer, err := openShown(root, *above, mounts)
	if err != nil {
		return nil, err
	}
	defer outer.Close()
	rest, _ := names.CutDir(m.Target, above.Target)
	return outer.HoldBelow(rest)
}

// innermostMount returns the innermost of mounts above target, or nil.
func innermostMount(target string, mounts []Point) (above *Point) {
	for i := range mounts {
		rest, below := names.CutDir(target, mounts[i].Target)
		if below && rest != "." && (above == nil || len(mounts[i].Target) > len(above.Target)) {
			above = &mounts[i]
		}
	}
	return above
}
