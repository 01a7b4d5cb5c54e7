// SPDX-License-Identifier: Apache-2.0

package sessionstest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Unreadable creates two sessions without a readable record: the directory of one is empty, and the other has a damaged
// record. Both are old. The returned records name a container, which the caller has to provide.
func Unreadable(t *testing.T, store *state.Store) (empty, damaged state.Session) {
	t.Helper()
	empty = state.Session{ID: state.NewID(), ContainerName: "web", Damaged: true}
	damaged = state.Session{ID: state.NewID(), ContainerName: "web", Damaged: true}
	for _, rec := range []state.Session{empty, damaged} {
		if err := os.Mkdir(store.Dir(rec.ID), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(store.Dir(damaged.ID), "session.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, rec := range []state.Session{empty, damaged} {
		root, err := os.OpenRoot(store.Dir(rec.ID))
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := root.Chtimes(".", old, old); err != nil {
			t.Fatal(err)
		}
	}
	return empty, damaged
}
