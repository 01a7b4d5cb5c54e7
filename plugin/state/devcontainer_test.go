// SPDX-License-Identifier: Apache-2.0

package state

import "testing"

// TestDevContainerID checks that the id is deterministic and differs between services.
func TestDevContainerID(t *testing.T) {
	s := &Store{Home: "/home/you/.docker/hostexec"}
	id := s.DevContainerID("unix:///run/docker.sock", "shop", "web")
	if !idForm.Matches(id) || id != s.DevContainerID("unix:///run/docker.sock", "shop", "web") {
		t.Errorf("DevContainerID = %q, and then another", id)
	}
	for _, other := range []string{
		s.DevContainerID("unix:///run/docker.sock", "shop", "db"), s.DevContainerID("unix:///run/docker.sock", "shopw", "eb"),
		s.DevContainerID("tcp://there", "shop", "web"), (&Store{Home: "/else"}).DevContainerID("unix:///run/docker.sock", "shop", "web"),
	} {
		if other == id {
			t.Errorf("%s is also the id of another service", id)
		}
	}
}
