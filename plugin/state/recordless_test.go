// SPDX-License-Identifier: Apache-2.0

package state

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// TestRecordless checks that a directory is listed only if it has no record, is old, and is not locked. The
// check must not create files in it.
func TestRecordless(t *testing.T) {
	s, err := OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for name, tt := range map[string]struct {
		record, held string
		young        bool
		want         bool
	}{
		"nothing in it":            {want: true},
		"being made":               {young: true},
		"with a record":            {record: `{"id": "ID"}`},
		"with one that is not one": {record: "{"},
		"watched":                  {held: "lock"},
		"leased":                   {held: "lease"},
		"no id":                    {},
	} {
		id := NewID()
		if name == "no id" {
			id = "notes"
		}
		dir := s.Dir(id)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if tt.record != "" {
			if err := os.WriteFile(filepath.Join(dir, record), []byte(tt.record), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if tt.held != "" {
			l := flock.New(filepath.Join(dir, tt.held))
			if ok, err := l.TryRLock(); err != nil || !ok {
				t.Fatal(ok, err)
			}
			defer l.Close()
		}
		if old := time.Now().Add(-time.Hour); !tt.young {
			if err := os.Chtimes(dir, old, old); err != nil {
				t.Fatal(err)
			}
		}
		if tt.want {
			want = append(want, id)
		}
	}
	for range 2 {
		if got := s.Recordless(time.Minute); !slices.Equal(got, want) {
			t.Errorf("Recordless = %q, want %q", got, want)
		}
	}
}
