// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// silentSession creates a session whose watcher takes connections and never answers.
func silentSession(t *testing.T, store *state.Store) (id string) {
	t.Helper()
	rec := state.Session{ID: state.NewID()}
	if err := store.Create(&rec); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", state.ControlSock(store.Dir(rec.ID)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return rec.ID
}

// TestSilentWatcher sends each request to a watcher that does not answer. Some waited for ever.
func TestSilentWatcher(t *testing.T) {
	t.Parallel() // it waits
	store, err := state.OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	id := silentSession(t, store)
	c := Dial(store.Dir(id))
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*ReplyTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for name, ask := range map[string]func() error{
		"approve":      func() error { return c.Approve(ctx, Question{ID: "1"}, approval.Terms{}) },
		"deny":         func() error { return c.Deny(ctx, Question{ID: "1"}, "", false) },
		"kill":         func() error { return c.Kill(ctx, "1") },
		"signal a job": func() error { return c.SignalJob(ctx, "1", "HUP") },
		"revoke":       func() error { return c.Revoke(ctx, KindGrant, "1") },
		"create shell": func() error { return c.CreateShell(ctx, "s", ShellOptions{}) },
		"remove shell": func() error { return c.RemoveShell(ctx, "s") },
		"run in shell": func() error { return c.RunShell(ctx, "s", ShellCommand{Text: ":"}, nil) },
	} {
		// ends with the answer, or with ctx.
		wg.Go(func() {
			silent := (*SilentError)(nil)
			if err := ask(); !errors.As(err, &silent) || silent.Hint() != "docker hostexec logs "+id {
				t.Errorf("%s: %v, want a SilentError of session %s", name, err, id)
			}
		})
	}
	wg.Wait()
}

// TestSilentWatchers asks several sessions whose watchers do not answer. They are asked at the same time.
func TestSilentWatchers(t *testing.T) {
	t.Parallel() // it waits
	store, err := state.OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		silentSession(t, store)
	}
	began := time.Now()
	if _, err := AllPending(t.Context(), store); !errors.As(err, new(*SilentError)) {
		t.Errorf("the error is %v", err)
	}
	if took := time.Since(began); took > 2*ReplyTimeout {
		t.Errorf("it took %s, want about %s", took, ReplyTimeout)
	}
}
