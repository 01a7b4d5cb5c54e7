// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/git"
)

// TestGitTurns checks that commands that only read run together, and that one that writes runs
// alone.
//
// Attack 232.
func TestGitTurns(t *testing.T) {
	var all commandTurns
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	take := func(ctx context.Context, o git.Overlap) func() {
		t.Helper()
		release, err := all.take(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	refused := func(o git.Overlap) {
		t.Helper()
		if _, err := all.take(gone, o); !errors.Is(err, context.Canceled) {
			t.Errorf("it does not wait: %v", err)
		}
	}
	first, second := take(gone, git.EntersSubmodules), take(gone, git.EntersSubmodules)
	refused(git.Changes)
	take(gone, git.Independent)()
	first()
	first() // which ends no other's turn
	refused(git.Changes)
	waits := make(chan func())
	go func() {
		release, _ := all.take(context.Background(), git.Changes)
		waits <- release
	}()
	second()
	alone := <-waits
	refused(git.EntersSubmodules)
	refused(git.Changes)
	alone()
	take(gone, git.EntersSubmodules)()
}
