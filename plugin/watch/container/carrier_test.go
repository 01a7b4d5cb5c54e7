// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker/docker/api/types/system"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// namedEngine is an engine that notes when it was asked for its name.
type namedEngine struct {
	watch.Engine
	asked time.Time
}

func (e *namedEngine) Info(context.Context) (system.Info, error) {
	e.asked = time.Now()
	return system.Info{ID: "engine"}, nil
}

// TestSocketSilence starts a container late: only then does its silence begin.
func TestSocketSilence(t *testing.T) {
	for _, tt := range []struct {
		name        string
		start, want time.Duration
	}{
		{"at once", time.Millisecond, time.Millisecond + socketSilence},
		{"slowly", 5 * time.Second, 5*time.Second + socketSilence},
		{"never", time.Hour, startTimeout + socketSilence},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := &state.Store{Home: t.TempDir()}
			if err := store.NoteEngine("unix:///docker.sock", state.EngineFacts{ID: "engine", Carrier: carrier.BySocket}); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				record := watch.NewRecord(store, state.Session{Carrier: "auto", Engine: "unix:///docker.sock"}, slog.New(slog.DiscardHandler))
				var known waitGate
				known.shut()
				time.AfterFunc(tt.start, known.open)
				tr := carrierChooser{record: record, carriers: &watch.Carriers{Connected: make(chan struct{})}, running: known.pass}
				api, began := &namedEngine{}, time.Now()
				tr.choose(t.Context(), api, "id")
				if got := api.asked.Sub(began); got != tt.want {
					t.Errorf("the engine was asked after %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// TestNoteEngineArch notes a carrier, and keeps an architecture that was found out for the same engine.
func TestNoteEngineArch(t *testing.T) {
	const at = "unix:///docker.sock"
	for _, tt := range []struct{ id, want string }{{"engine", "arm64"}, {"older", ""}} {
		store := &state.Store{Home: t.TempDir()}
		if err := store.NoteEngine(at, state.EngineFacts{ID: tt.id, Arch: "arm64"}); err != nil {
			t.Fatal(err)
		}
		record := watch.NewRecord(store, state.Session{Engine: at}, slog.New(slog.DiscardHandler))
		tr := carrierChooser{record: record, carriers: &watch.Carriers{}, log: slog.New(slog.DiscardHandler)}
		tr.noteEngine(t.Context(), &namedEngine{}, state.EngineFacts{Carrier: carrier.ByRelay})
		if got, want := store.Engine(at), (state.EngineFacts{ID: "engine", Arch: tt.want, Carrier: carrier.ByRelay}); got != want {
			t.Errorf("after %s, stored is %+v, want %+v", tt.id, got, want)
		}
	}
}

// TestForgetOther forgets what is known of an engine when another one answers at its place, by any carrier.
func TestForgetOther(t *testing.T) {
	const at = "unix:///docker.sock"
	for _, tt := range []struct {
		name, by, id string
		forgotten    bool
	}{
		{"the same engine", carrier.ByFiles, "engine", false},
		{"another engine, by files", carrier.ByFiles, "older", true},
		{"another engine, by a relay", "", "older", true},
	} {
		store := &state.Store{Home: t.TempDir()}
		if err := store.NoteEngine(at, state.EngineFacts{ID: tt.id, Arch: "arm64"}); err != nil {
			t.Fatal(err)
		}
		record := watch.NewRecord(store, state.Session{Carrier: tt.by, Engine: at}, slog.New(slog.DiscardHandler))
		tr := carrierChooser{record: record, carriers: &watch.Carriers{}, log: slog.New(slog.DiscardHandler)}
		if tt.by == carrier.ByFiles {
			tr.choose(t.Context(), &namedEngine{}, "id")
		} else {
			tr.forgetReplacedEngine(t.Context(), &namedEngine{})
		}
		if got := store.Engine(at) == (state.EngineFacts{}); got != tt.forgotten {
			t.Errorf("%s: forgotten is %v, want %v", tt.name, got, tt.forgotten)
		}
	}
}
