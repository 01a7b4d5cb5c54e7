// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestRemoval removes a session's control socket, alone or with its directory, while the session lives. The session ends
// soon, but not if the socket is there again, and not for that reason if it has already ended.
func TestRemoval(t *testing.T) {
	over := errors.New("over")
	for _, tt := range []struct {
		name string
		act  func(l *Lifetime, socket string) error
		want error // nil: the session lives
	}{
		{"nothing", func(*Lifetime, string) error { return nil }, nil},
		{"the directory", func(_ *Lifetime, socket string) error { return os.RemoveAll(filepath.Dir(socket)) }, errRemoved},
		{"the socket", func(_ *Lifetime, socket string) error { return os.Remove(socket) }, errRemoved},
		{"the socket, for a moment", func(_ *Lifetime, socket string) error {
			err := os.Remove(socket)
			time.Sleep(removalInterval) // on the clock of synctest
			return errors.Join(err, os.WriteFile(socket, nil, 0o600))
		}, nil},
		{"an ended session", func(l *Lifetime, socket string) error {
			l.Stop(over)
			return os.RemoveAll(filepath.Dir(socket))
		}, over},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				log := slog.New(slog.DiscardHandler)
				s := NewSession(NewRecord(&state.Store{Home: home}, state.Session{ID: "0123456789ab"}, log), log)
				socket := state.ControlSock(s.Record.Dir)
				if err := errors.Join(os.MkdirAll(s.Record.Dir, 0o700), os.WriteFile(socket, nil, 0o600)); err != nil {
					t.Fatal(err)
				}
				life, ctx := newLifetime(t.Context(), s.Record, log)
				defer life.Stop(nil)
				s.Life = life
				go s.watchRemoval(ctx) // ends with ctx
				time.Sleep(removalInterval / 2)
				if err := tt.act(life, socket); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * removalInterval)
				synctest.Wait()
				if got := context.Cause(ctx); !errors.Is(got, tt.want) {
					t.Errorf("the session has ended with %v, want %v", got, tt.want)
				}
			})
		})
	}
}
