// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestTermBehindHUP sends a watcher two HUPs and a TERM, while the configuration takes long to read. The TERM was lost.
func TestTermBehindHUP(t *testing.T) {
	rec := &state.Session{}
	store, _ := recorded(t, rec)
	log := slog.New(slog.DiscardHandler)
	s := NewSession(NewRecord(store, *rec, log), log)
	s.Calls.Server.SetConfig(&call.SessionConfig{Dirs: mount.WritableTable(nil)})
	s.Config.Load()
	life, ctx := newLifetime(t.Context(), s.Record, log)
	s.Life = life
	defer s.wg.Wait()
	defer life.Stop(nil)

	delivered := make(chan os.Signal, 1) // the runtime delivers a signal to all channels before the next signal
	signal.Notify(delivered, syscall.SIGHUP, syscall.SIGTERM)
	defer signal.Stop(delivered)
	s.handleSignals(ctx)
	s.Record.mu.Lock() // a HUP waits for it
	defer s.Record.mu.Unlock()
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGHUP, syscall.SIGTERM} {
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		<-delivered
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
	}
	if why := context.Cause(ctx); !errors.Is(why, ErrStopped) {
		t.Errorf("the session has ended: %v, want %v", why, ErrStopped)
	}
}
