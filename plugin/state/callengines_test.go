// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"
	"sync"
	"testing"
)

// TestCallEngines checks that concurrent notes are all stored, and returned once.
func TestCallEngines(t *testing.T) {
	s := &Store{Home: t.TempDir()}
	if got, err := s.CallEngines(); err != nil || len(got) != 0 {
		t.Errorf("Engines = %q, %v, want none", got, err)
	}
	var wg sync.WaitGroup
	for range 20 {
		for _, host := range []string{"unix:///b", "unix:///a"} {
			// Ends with its note.
			wg.Go(func() {
				if err := s.AddCallEngine(host); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if got, err := s.CallEngines(); err != nil || !slices.Equal(got, []string{"unix:///a", "unix:///b"}) {
		t.Errorf("Engines = %q, %v", got, err)
	}
}
