// SPDX-License-Identifier: Apache-2.0

package files

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// TestSweep checks that only old files are removed, all files of a call together, and no files of calls in flight.
//
// Attack 19.
func TestSweep(t *testing.T) {
	base := t.TempDir()
	box, err := dir.MakeUntrustedDir(base, "x", dir.ForEveryone)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	now := time.Now()
	old, recent, future := now.Add(-6*time.Minute), now.Add(-4*time.Minute), now.Add(24*time.Hour)
	for name, at := range map[string]time.Time{
		"old.stdout": old, "old.exit": old, "young.exit": recent, "mixed.stdout": old, "mixed.beat": recent, "inflight.stdout": old,
		"wish.req": old, "readme": old, "x.txt": old, "future.exit": future,
	} {
		path := filepath.Join(base, "x", name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(base, "x", "dir.exit"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := newServedDir(RequestDir{Dir: box})
	p.inFlight["inflight"] = &call{}
	left := func() (names []string) {
		box.Names(func(name string) bool { names = append(names, name); return true })
		slices.Sort(names)
		return names
	}
	p.sweep(now)
	want := []string{"dir.exit", "future.exit", "inflight.stdout", "mixed.beat", "mixed.stdout", "readme", "wish.req", "x.txt", "young.exit"}
	if got := left(); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	p.sweep(now.Add(6 * time.Minute))
	want = []string{"dir.exit", "inflight.stdout", "readme", "wish.req", "x.txt"}
	if got := left(); !slices.Equal(got, want) {
		t.Errorf("after a later sweep, left are %q, want %q", got, want)
	}
}
