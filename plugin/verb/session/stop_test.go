// SPDX-License-Identifier: Apache-2.0

package session

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestStopRefused stops a session whose watcher does not accept that. The session continues: after a crash, status said
// that it was stopped, and resume --all left it alone.
func TestStopRefused(t *testing.T) {
	store, err := state.OpenAt(filepath.Join(t.TempDir(), "h"))
	if err != nil {
		t.Fatal(err)
	}
	rec := state.Session{ID: state.NewID()}
	if err := store.Create(&rec); err != nil {
		t.Fatal(err)
	}
	stop := func() error { return stopWatcher(t.Context(), store, rec.ID, sessions.DefaultGrace) }
	if err := stop(); err != nil || !store.Stopped(rec.ID) {
		t.Errorf("without a watcher: %v, stopped %v", err, store.Stopped(rec.ID))
	}
	ln, err := net.Listen("unix", state.ControlSock(store.Dir(rec.ID)))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	// ends when ln is closed.
	go func() {
		for conn, err := ln.Accept(); err == nil; conn, err = ln.Accept() {
			conn.Close()
		}
	}()
	if err := stop(); err == nil || store.Stopped(rec.ID) {
		t.Errorf("with a watcher that does not accept: %v, stopped %v", err, store.Stopped(rec.ID))
	}
}

// TestStopTime refuses a time that is no Duration. It became a time in the past: nothing was stopped.
func TestStopTime(t *testing.T) {
	for _, seconds := range []string{"-1", "2147483648", "9223372036"} {
		cmd := NewStopCommand(nil)
		cmd.SetArgs([]string{"--time", seconds, "x"})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "must be 0 to 2147483647 seconds") {
			t.Errorf("--time %s: %v", seconds, err)
		}
	}
}
