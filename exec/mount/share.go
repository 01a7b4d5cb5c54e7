// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

var errReplaced = errors.New("it was replaced meanwhile")

// Share returns the container's directories of the host as another container can be given
// them, for a command in cwd, and what cwd is called there. One without a Source is where
// this container has something else over a directory of the host, a volume say: the other
// one may not see what is below that. Sources are names, which may lead elsewhere by the
// time that they are mounted: Shown tells.
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
		case over != m: // another one lies over it
		case m.shared():
			mounts = append(mounts, Point{Target: m.target, Source: m.source, Bind: true, ReadOnly: m.readOnly})
		case t.within(m.target):
			mounts = append(mounts, Point{Target: m.target, File: m.file, ReadOnly: true})
		}
	}
	return mounts, at
}

// shared reports whether m is a directory of the host's that is held.
func (m *mount) shared() bool { return m.bind && m.err == nil }

// within reports whether a directory of the host's is mounted above target.
func (t *Table) within(target string) bool {
	for i := range t.mounts {
		if rest, below := cutPrefix(target, t.mounts[i].target); below && rest != "." && t.mounts[i].shared() {
			return true
		}
	}
	return false
}

// Shown reports whether the container whose root directory is root has at each of mounts,
// which Share returned, what is held here. Below another of them no link may lead there:
// who can write there could have had the engine mount this one anywhere.
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
			return nil // what it hides is not there
		}
		outer, err := openShown(root, *above, mounts)
		if err != nil {
			return err
		}
		defer outer.Close()
		rest, _ := cutPrefix(m.Target, above.Target)
		return outer.Covered(rest)
	}
	shown, err := openShown(root, m, mounts)
	if err != nil {
		return err
	}
	defer shown.Close()
	held, _ := t.find(m.Target)
	if t.fallback != nil { // Share gives it the name that it has on the host
		held = t.fallback
	}
	if held == nil || held.held == nil || !dir.Same(shown.FD(), held.held.FD()) {
		return errReplaced
	}
	return nil
}

// openShown holds what a container has at m's target: from the innermost of mounts that is
// above it, or else from the root, where only the image has a say.
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
	rest, _ := cutPrefix(m.Target, above.Target)
	return outer.HoldBelow(rest)
}

// innermostMount returns that of mounts in which target is, but for itself, or nil.
func innermostMount(target string, mounts []Point) (above *Point) {
	for i := range mounts {
		rest, below := cutPrefix(target, mounts[i].Target)
		if below && rest != "." && (above == nil || len(mounts[i].Target) > len(above.Target)) {
			above = &mounts[i]
		}
	}
	return above
}
