// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"
	"sync"
	"testing"
)

// TestRoomHosts: what is noted, by however many at once, is there once.
func TestRoomHosts(t *testing.T) {
	s := &Store{Home: t.TempDir()}
	if got, err := s.RoomHosts(); err != nil || len(got) != 0 {
		t.Errorf("Engines = %q, %v, want none", got, err)
	}
	var wg sync.WaitGroup
	for range 20 {
		for _, host := range []string{"unix:///b", "unix:///a"} {
			// ends with its note.
			wg.Go(func() {
				if err := s.NoteRoomHost(host); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if got, err := s.RoomHosts(); err != nil || !slices.Equal(got, []string{"unix:///a", "unix:///b"}) {
		t.Errorf("Engines = %q, %v", got, err)
	}
}
