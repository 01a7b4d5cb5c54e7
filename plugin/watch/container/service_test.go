// SPDX-License-Identifier: Apache-2.0

package container

import (
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// TestRecordRace changes the record of a session by the goroutine that follows its containers, while calls and events
// of the engine save it. The race detector reports a change that they can see half done.
func TestRecordRace(t *testing.T) {
	store, err := state.OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rec := state.Session{ID: "0123456789ab", Commands: []state.Command{{Name: "make", Path: "/w/make", Found: true}}}
	if err := store.Create(&rec); err != nil {
		t.Fatal(err)
	}
	mc := testCheck(store.Home, rec)
	s := watch.NewSession(mc.record, slog.New(slog.DiscardHandler))
	m := &Mode{s: s, mounts: mc, killer: &killer{record: mc.record, calls: s.Calls, log: s.Log}, lastEnd: time.Now()}

	const rounds = 50
	var wg sync.WaitGroup
	// ends after its rounds.
	wg.Go(func() {
		for i := range rounds {
			s.Calls.Rename("renamed" + strconv.Itoa(i))
		}
	})
	share := container.MountPoint{Type: mount.TypeBind, RW: true, Source: state.ShareDir(mc.record.Dir), Destination: state.Target}
	for i := range rounds {
		c := container.InspectResponse{
			ContainerJSONBase: &container.ContainerJSONBase{ID: strconv.Itoa(i), Name: "/c", State: &container.State{StartedAt: "2006-01-02T15:04:05Z"}},
			Config:            &container.Config{Image: "image"},
			Mounts:            []container.MountPoint{share},
		}
		if err := m.setUpService(t.Context(), nil, c, nil); !errors.As(err, new(exposedError)) {
			t.Errorf("set up a container that can write its share = %v, want an exposedError", err)
		}
	}
	wg.Wait()
	saved, err := store.Load(rec.ID)
	if err != nil || saved.Container != strconv.Itoa(rounds-1) {
		t.Errorf("the saved record has container %q, %v, want that of the last round", saved.Container, err)
	}
}
