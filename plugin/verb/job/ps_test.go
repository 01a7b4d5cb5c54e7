// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/cli/clitest"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/sessions/sessionstest"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestPsOfSilentWatcher checks that ps reports calls of a watcher that does not answer as unknown,
// not as none.
//
// Attack 213.
func TestPsOfSilentWatcher(t *testing.T) {
	sessionstest.Silent(t, func(t *testing.T, store *state.Store, recs []state.Session) {
		if all, err := activities(t.Context(), store, recs); err == nil || errors.Is(err, control.ErrNoWatcher) {
			t.Errorf("activities = %d, %v", len(all), err)
		}
		var out bytes.Buffer
		if err := ps(t.Context(), &out, store, nil, psOptions{}); err == nil {
			t.Errorf("ps lists %q, and no error", out.String())
		}
	})
}

func TestCompleteFilter(t *testing.T) {
	t.Setenv("HOSTEXEC_HOME", t.TempDir()) // there are no sessions
	cmd := NewPsCommand(clitest.New(t, io.Discard))
	complete, _ := cmd.GetFlagCompletionFunc("filter")
	for typed, want := range map[string]string{
		"":         "id= container= session= command= kind= status=",
		"ki":       "id= container= session= command= kind= status=", // the shell picks
		"kind=":    "kind=call kind=job kind=left",
		"command=": "",
		"bogus=":   "",
	} {
		words, _ := complete(cmd, nil, typed)
		if got := strings.Join(words, " "); got != want {
			t.Errorf("completion of --filter %q = %q, want %q", typed, got, want)
		}
	}
}
