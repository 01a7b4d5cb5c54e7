// SPDX-License-Identifier: Apache-2.0

package state

import (
	"strconv"
	"sync"
	"testing"
)

// TestAddGitRemoteRace adds remotes of a project from many sessions at once. None is lost.
func TestAddGitRemoteRace(t *testing.T) {
	s := &Store{Home: t.TempDir()}
	const project, sessions = "/src/app", 50
	var wg sync.WaitGroup
	for i := range sessions {
		// ends when the remote is added
		wg.Go(func() {
			name := "remote" + strconv.Itoa(i)
			if err := s.AddGitRemote(project, name, "https://git.example/"+name); err != nil {
				t.Errorf("AddGitRemote(%s) = %v", name, err)
			}
		})
	}
	wg.Wait()
	if got := len(s.GitRemotes(project)); got != sessions {
		t.Errorf("after %d remotes were added at once, the project has %d", sessions, got)
	}
}
