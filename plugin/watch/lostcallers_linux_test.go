// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// begun makes a call that a watcher began, and returns whether it has an answer.
func begun(t *testing.T, at string) (answered func() bool) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(at, 0o700), os.WriteFile(at+"/id.stdout", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	return func() bool { _, err := os.Stat(at + "/id.exit"); return err == nil }
}

// recorded makes a session with record rec.
func recorded(t *testing.T, rec *state.Session) (store *state.Store, folder string) {
	t.Helper()
	store, err := state.OpenAt(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	rec.ID = state.NewID()
	if err := store.Create(rec); err != nil {
		t.Fatal(err)
	}
	return store, store.Dir(rec.ID)
}

// soonLost is AnswerLost without waiting for a lock.
func soonLost(t *testing.T, folder string) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	AnswerLost(ctx, folder)
}

// TestAnswerLost answers the calls of every command that the container can call by name, when the
// session has no other watcher.
func TestAnswerLost(t *testing.T) {
	_, folder := recorded(t, &state.Session{Commands: []state.Command{{Name: "make"}}, RuleCommands: []string{"git"}})
	calls := map[string]func() bool{}
	for _, name := range []string{"make", "git", shimName} {
		calls[name] = begun(t, filepath.Join(state.RequestsDir(folder), name))
	}
	lock := flock.New(state.LockFile(folder))
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	soonLost(t, folder)
	for name, answered := range calls {
		if answered() {
			t.Errorf("%s is answered, and another watcher has it", name)
		}
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	AnswerLost(t.Context(), folder)
	for name, answered := range calls {
		if !answered() {
			t.Errorf("%s has no answer", name)
		}
	}
}

// TestAnswerLostProxy answers in the directory that was served, unless another proxy has it or
// another directory has its name.
//
// Attack 226.
func TestAnswerLostProxy(t *testing.T) {
	for name, want := range map[string]bool{"killed": true, "served by another one": false, "replaced by a link": false, "replaced": false} {
		t.Run(name, func(t *testing.T) {
			ws := t.TempDir()
			rec := state.Session{Commands: []state.Command{{Name: "make"}}, Proxy: &state.Proxy{Base: ws + "/base", RelativePath: "requests"}}
			answered := begun(t, ws+"/base/requests/make")
			base, err := dir.OpenBase(rec.Proxy.Base)
			if err != nil {
				t.Fatal(err)
			}
			defer base.Close()
			if rec.Proxy.Real = base.Real(); err == nil {
				rec.Proxy.Key, err = base.Key()
			}
			store, folder := recorded(t, &rec)
			switch name {
			case "served by another one":
				requests, berr := base.Open("requests/make")
				if berr != nil {
					t.Fatal(berr)
				}
				defer requests.Close()
				key, _ := requests.Key()
				l, lerr := store.ProxyLocks().Lock(key, "make")
				if lerr != nil {
					t.Fatal(lerr)
				}
				defer l.Close()
				err = l.WritePID()
			case "replaced by a link":
				err = errors.Join(os.Rename(ws+"/base", ws+"/old"), os.Symlink("old", ws+"/base"))
			case "replaced":
				err = os.Rename(ws+"/base", ws+"/old")
				answered = begun(t, ws+"/base/requests/make")
			}
			if err != nil {
				t.Fatal(err)
			}
			AnswerLost(t.Context(), folder) // its directory is being removed: the lock has gone already
			if _, err := os.Lstat(state.LockFile(folder)); !os.IsNotExist(err) || answered() {
				t.Errorf("without a lock: answered %t, lock %v", answered(), err)
			}
			if err := os.WriteFile(state.LockFile(folder), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			AnswerLost(t.Context(), folder)
			if answered() != want {
				t.Errorf("answered: %t, want %t", !want, want)
			}
		})
	}
}
