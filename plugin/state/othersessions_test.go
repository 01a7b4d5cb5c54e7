// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"
	"testing"
)

// TestChanged checks that Changed reports a new time after each change of the files that sessions
// can write.
//
// Attack 235.
func TestChanged(t *testing.T) {
	s, err := OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a, b := &Session{ID: NewID()}, &Session{ID: NewID(), Writable: []string{"/b", "/a"}}
	was, err := s.Changed()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		do   func() error
		want WritablePaths // of all but a
	}{
		{"the first session", func() error { return s.Create(a) }, WritablePaths{}},
		{"a second one", func() error { return s.Create(b) }, WritablePaths{Containers: []string{"/a", "/b"}}},
		{"one is saved", func() error { b.Writable = []string{"/c"}; return s.Save(b) }, WritablePaths{Containers: []string{"/c"}}},
		{"its sandboxes", func() error { b.SandboxWrites = []string{"/f", "/e"}; return s.Save(b) }, WritablePaths{[]string{"/c"}, []string{"/e", "/f"}}},
		{"and saved again", func() error { a.Writable = []string{"/d"}; return s.Save(a) }, WritablePaths{[]string{"/c"}, []string{"/e", "/f"}}},
		{"one is removed", func() error { return s.Remove(b.ID) }, WritablePaths{}},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		now, err := s.Changed()
		if err != nil || now.Equal(was) {
			t.Errorf("%s: Changed = %v, %v, as before", step.name, now, err)
		}
		was = now
		if got, err := s.WritableByOthers(a.ID); err != nil || !slices.Equal(got.Containers, step.want.Containers) || !slices.Equal(got.Sandboxes, step.want.Sandboxes) {
			t.Errorf("%s: WritableByOthers = %+v, %v, want %+v", step.name, got, err, step.want)
		}
	}
}
