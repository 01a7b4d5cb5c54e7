// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// age makes the last use of each mirror of dir be some time ago.
func age(t testing.TB, dir string, by time.Duration) {
	t.Helper()
	locks, err := filepath.Glob(filepath.Join(dir, "*"+lockSuffix))
	then := time.Now().Add(-by)
	for _, path := range locks {
		if err == nil {
			err = os.Chtimes(path, then, then)
		}
	}
	if err != nil || len(locks) == 0 {
		t.Fatalf("%d locks, %v", len(locks), err)
	}
}

// TestPrune removes a mirror that is old and not in use, and nothing else.
func TestPrune(t *testing.T) {
	f := newFixture(t, "sha1")
	w := f.clone("")
	at := f.call.Dir
	for _, d := range []string{"added", "left" + removedSuffix + "/objects"} {
		f.check(os.MkdirAll(filepath.Join(at, d), 0o700))
	}
	prune := func() []string {
		t.Helper()
		removed, err := Prune(at, time.Now().Add(-MaxUnused))
		f.check(err)
		return removed
	}
	if removed := prune(); len(removed) > 0 {
		t.Errorf("a new mirror was removed: %q", removed)
	}
	mirrors, err := filepath.Glob(at + "/*" + mirrorSuffix)
	f.check(err)
	age(t, at, MaxUnused+time.Hour)
	lock := flock.New(mirrors[0] + lockSuffix)
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if removed := prune(); len(removed) > 0 {
		t.Errorf("a mirror in use was removed: %q", removed)
	}
	f.check(lock.Close())
	if removed := prune(); !slices.Equal(removed, mirrors) {
		t.Errorf("removed %q, want %q", removed, mirrors)
	}
	left, err := filepath.Glob(at + "/*")
	f.check(err)
	want := []string{filepath.Join(at, "added"), mirrors[0] + lockSuffix}
	slices.Sort(want)
	if !slices.Equal(left, want) {
		t.Errorf("left over: %q, want %q", left, want)
	}
	f.sh(w, commit+"git push -q origin main; git fetch -q")
	if removed := prune(); len(removed) > 0 {
		t.Errorf("a mirror that was made again was removed: %q", removed)
	}
	if removed, err := Prune(filepath.Join(at, "none"), time.Now()); len(removed) > 0 || err != nil {
		t.Errorf("without a directory: %q, %v", removed, err)
	}
}

// TestPruneRace fetches while another process prunes all the time. Before each fetch the mirror looks old: either it is
// removed and made again, or it is used and stays. No fetch fails.
func TestPruneRace(t *testing.T) {
	f := newFixture(t, "sha1")
	w := f.clone("")
	over := make(chan struct{})
	var pruner sync.WaitGroup
	removals := 0
	// ends when over is closed.
	pruner.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			removed, err := Prune(f.call.Dir, time.Now().Add(-MaxUnused))
			if err != nil {
				t.Error(err)
			}
			removals += len(removed)
		}
	})
	for range 10 {
		age(t, f.call.Dir, MaxUnused+time.Hour)
		if out, code := f.try(w, "git fetch -q; git ls-remote -q origin"); code != 0 {
			t.Errorf("exit code %d, %s%s", code, out, f.complained())
		}
	}
	close(over)
	pruner.Wait()
	if removals == 0 {
		t.Error("no mirror was removed")
	}
}
