// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"log/slog"
	"os"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestFinishErrors ends a session whose container is gone. Its directory is removed, and the errors of its end, for
// example of processes that could not be ended, are still returned.
func TestFinishErrors(t *testing.T) {
	rec := &state.Session{}
	store, folder := recorded(t, rec)
	log := slog.New(slog.DiscardHandler)
	s := NewSession(NewRecord(store, *rec, log), log)
	life, ctx := newLifetime(t.Context(), s.Record, log)
	life.calls = s.Calls
	s.Life = life
	s.Life.Stop(ErrGone)
	before, atEnd := errors.New("before"), errors.New("at the end")
	s.AtEnd(func() error { return atEnd })
	if err := s.finish(ctx, before); !errors.Is(err, before) || !errors.Is(err, atEnd) {
		t.Errorf("finish = %v, want both errors", err)
	}
	if _, err := os.Lstat(folder); !os.IsNotExist(err) {
		t.Errorf("the session's directory is left: %v", err)
	}
}
