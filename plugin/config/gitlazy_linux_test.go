// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync/atomic"
	"testing"
)

// TestGitLazyFetch has a repository that is marked as a partial clone and lacks an object. Git
// would fetch it from an address of the container's choice. Under the preset it fails instead.
//
// Attack 231.
func TestGitLazyFetch(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	v := newVictim(t)
	v.sh(t, v.work, `git config core.repositoryFormatVersion 1; git config extensions.partialClone origin; git config remote.origin.promisor true
		git config remote.origin.url `+server.URL+`; rm -f .git/objects/$(git rev-parse HEAD~2:f | sed 's,..,&/,')`)
	plain := exec.Command("git", "show", "HEAD~1")
	plain.Dir, plain.Env = v.work, v.environ()
	if plain.Run(); asked.Swap(0) == 0 {
		t.Fatal("plain git fetches nothing, so this is not an attack")
	}
	s := v.serve(t, "")
	for _, args := range [][]string{{"show", "HEAD~1"}, {"diff", "HEAD~2"}, {"log", "--stat"}, {"status"}} {
		if run(t, s, "/w", args...); asked.Swap(0) != 0 {
			t.Errorf("git %q uses the network", args)
		}
	}
}
