// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	mirrorSuffix  = ".git"
	lockSuffix    = ".lock"
	removedSuffix = ".removed"
)

// MaxUnused is how long a mirror may be unused: callers of Prune subtract it from the present time.
const MaxUnused = 30 * 24 * time.Hour

// Prune removes the mirrors of dir that were last used before the given time, and returns their paths. The next use of
// such a remote creates its mirror again. Locks stay: another process may wait for one. Prune also removes the
// quarantines of watchers that were killed.
func Prune(dir string, before time.Time) (removed []string, err error) {
	errs := []error{removeQuarantines(dir)}
	left, err := filepath.Glob(filepath.Join(dir, "*"+removedSuffix)) // of a process that was killed
	errs = append(errs, err)
	for _, path := range left {
		errs = append(errs, os.RemoveAll(path))
	}
	mirrors, err := filepath.Glob(filepath.Join(dir, "*"+mirrorSuffix))
	errs = append(errs, err)
	for _, path := range mirrors {
		ok, err := removeUnused(path, before)
		if ok {
			removed = append(removed, path)
		}
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

// removeUnused removes the mirror at path if no process holds its lock, and if its last use precedes the time before.
func removeUnused(path string, before time.Time) (removed bool, err error) {
	lock := flock.New(path + lockSuffix)
	if ok, err := lock.TryLock(); err != nil || !ok {
		return false, err
	}
	defer lock.Close()
	fi, err := os.Stat(lock.Path())
	if err != nil || !fi.ModTime().Before(before) {
		return false, err
	}
	return removeMirror(path)
}

// removeMirror removes the mirror at path. The caller holds its lock. The mirror gets another name first, because a part
// of a mirror would be used.
func removeMirror(path string) (removed bool, err error) {
	gone := strings.TrimSuffix(path, mirrorSuffix) + removedSuffix
	removeAll(gone) // of a process that was killed
	if err := os.Rename(path, gone); err != nil {
		return false, fmt.Errorf("remove a copy of a remote: %w", err)
	}
	return true, os.RemoveAll(gone)
}

// noteUse notes that the mirror with this lock is used now.
func noteUse(lock *flock.Flock) error {
	root, err := os.OpenRoot(filepath.Dir(lock.Path()))
	if err != nil {
		return err
	}
	defer root.Close()
	now := time.Now()
	return root.Chtimes(filepath.Base(lock.Path()), now, now)
}
