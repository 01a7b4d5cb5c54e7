// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestLongGrants checks that two grants with the same beginning look different. The list marks
// shortened text, and --no-trunc shows all of it.
func TestLongGrants(t *testing.T) {
	store, err := state.OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rec := state.Session{ID: state.NewID()}
	if err := store.Create(&rec); err != nil {
		t.Fatal(err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: state.ControlSock(store.Dir(rec.ID))})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	short := control.StandingAnswer{ID: "0123456789abcdef", Session: rec.ID, Args: []string{"sh", "-c", "all is well ..."}, Cut: &control.Cut{Args: 3, Bytes: 900}}
	mux.HandleFunc("GET /denials", func(w http.ResponseWriter, _ *http.Request) {
		control.Reply(w, http.StatusOK, []control.StandingAnswer{})
	})
	mux.HandleFunc("GET /grants", func(w http.ResponseWriter, _ *http.Request) {
		control.Reply(w, http.StatusOK, []control.StandingAnswer{short})
	})
	mux.HandleFunc("GET /grants/"+short.ID, func(w http.ResponseWriter, _ *http.Request) {
		whole := short
		whole.Cut, whole.Args = nil, []string{"sh", "-c", "all is well; rm -rf /"}
		control.Reply(w, http.StatusOK, whole)
	})
	server := http.Server{Handler: mux}
	ended := make(chan error, 1)
	// ends when the server is closed, at the end of the test.
	go func() { ended <- server.Serve(ln) }()
	t.Cleanup(func() {
		server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	for whole, want := range map[bool]string{false: "... (3 arguments, 900 bytes)", true: "rm -rf /"} {
		rows, err := answerRows(t.Context(), store, whole)
		if err != nil || len(rows) != 1 || !strings.Contains(rows[0].Matches, want) {
			t.Errorf("whole %v: %+v, %v, want %q", whole, rows, err, want)
		}
	}
}
