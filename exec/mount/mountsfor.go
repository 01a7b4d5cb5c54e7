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

// MountsFor returns the container's directories of the host as mounts for another container, which runs a command in
// cwd. at is the path of cwd there. A Point without a Source means that another mount of this container, such as a
// volume, covers a part of a directory. The other container must not see that part. Sources are paths, which may lead
// elsewhere when they are mounted: check the mounts with CheckMounts.
func (t *Table) MountsFor(cwd string) (mounts []Point, at string) {
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
		case m.isHostDir():
			mounts = append(mounts, Point{Target: m.target, Source: m.source, Bind: true, ReadOnly: m.readOnly})
		case t.belowHostDir(m.target):
			mounts = append(mounts, Point{Target: m.target, File: m.file, ReadOnly: true})
		}
	}
	return mounts, at
}

// isHostDir reports whether m is a directory of the host that is held.
func (m *mount) isHostDir() bool { return m.bind && m.err == nil }

// belowHostDir reports whether a directory of the host is mounted above target.
func (t *Table) belowHostDir(target string) bool {
	for i := range t.mounts {
		if rest, below := names.CutDir(target, t.mounts[i].target); below && rest != "." && t.mounts[i].isHostDir() {
			return true
		}
	}
	return false
}

// CheckMounts checks mounts, which MountsFor returned, in the container with the root directory root. It returns an
// error unless each target there is the directory that this table holds. Below another mount, no link may lead to a
// target: a container that can write there could have made the engine mount the directory elsewhere.
func (t *Table) CheckMounts(root int, mounts []Point) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.closed {
		return errors.New("look at another container's mounts: the mount table is closed")
	}
	for _, m := range mounts {
		if err := t.checkMount(dir.Borrow(root), m, mounts); err != nil {
			return fmt.Errorf("%s is not what the caller has there: %w", strconv.QuoteToASCII(m.Target), err)
		}
	}
	return nil
}

func (t *Table) checkMount(root *dir.Dir, m Point, mounts []Point) error {
	if m.Source == "" {
		above := innermostMount(m.Target, mounts)
		if above == nil {
			return nil // the covered directory is not there
		}
		outer, err := openTarget(root, *above, mounts)
		if err != nil {
			return err
		}
		defer outer.Close()
		rest, _ := names.CutDir(m.Target, above.Target)
		return outer.CheckCovered(rest)
	}
	shown, err := openTarget(root, m, mounts)
	if err != nil {
		return err
	}
	defer shown.Close()
	held, _ := t.find(m.Target)
	if t.fallback != nil { // MountsFor mounts it at its path on the host
		held = t.fallback
	}
	if held == nil || held.held == nil || !dir.Same(shown.FD(), held.held.FD()) {
		return dir.ErrReplaced
	}
	return nil
}

// openTarget holds the directory at m's target in a container. It opens it below the innermost of mounts above the
// target, or without one below the root directory, which only the image controls.
func openTarget(root *dir.Dir, m Point, mounts []Point) (*dir.Dir, error) {
	above := innermostMount(m.Target, mounts)
	if above == nil {
		return root.HoldInRoot(strings.TrimPrefix(m.Target, "/"))
	}
	outer, err := openTarget(root, *above, mounts)
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
