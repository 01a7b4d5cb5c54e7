// SPDX-License-Identifier: Apache-2.0

package control

import (
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Summary describes a session and its state, in printable ASCII.
type Summary struct {
	ID        string          `json:"id"`
	Container string          `json:"container"`
	Image     string          `json:"image"`
	Project   string          `json:"project"` // base name of the directory where the session was started
	State     string          `json:"state"`   // as in Status
	Carrier   string          `json:"carrier"`
	Commands  []state.Command `json:"commands"`
	Created   time.Time       `json:"created"`
	Calls     int             `json:"calls"` // START records so far: commands, and updates of git-push calls
	Running   []Running       `json:"running"`

	Shells []shell.Info `json:"shells,omitempty"` // the shells with state
}

// Summarize builds a Summary from a session's record and status.
func Summarize(rec state.Session, st Status) Summary {
	s := Summary{
		ID: rec.ID, Container: names.Printable(rec.ContainerName), Image: names.Printable(rec.Image), Project: names.Printable(filepath.Base(rec.InvokedIn)),
		State: st.State, Carrier: st.Carrier, Commands: slices.Clone(rec.Commands), Created: rec.Created, Calls: st.Calls, Running: slices.Clone(st.Running),
	}
	for i := range s.Running {
		s.Running[i].Args = names.PrintableArgs(s.Running[i].Args)
		s.Running[i].Dir = names.Printable(s.Running[i].Dir)
	}
	s.Shells = slices.Clone(st.Shells)
	for i := range s.Shells {
		s.Shells[i].Dir = names.Printable(s.Shells[i].Dir)
	}
	return s
}

// serveSession adds the paths for the whole session to mux. The lists have the form of the page's lists,
// with this session only.
func serveSession(mux *http.ServeMux, s Session) {
	mux.HandleFunc("GET /session", func(w http.ResponseWriter, r *http.Request) { Reply(w, http.StatusOK, s.Status().listed()) })
	mux.HandleFunc("GET /sessions", func(w http.ResponseWriter, r *http.Request) {
		Reply(w, http.StatusOK, []Summary{Summarize(s.Record(), s.Status().listed())})
	})
	mux.HandleFunc("GET /agents", func(w http.ResponseWriter, r *http.Request) { Reply(w, http.StatusOK, s.AgentRules()) })
	mux.HandleFunc("GET /audit", func(w http.ResponseWriter, r *http.Request) {
		list, err := History(s.AuditLog(), s.Record().ID)
		if err != nil {
			Reply(w, http.StatusInternalServerError, problem{err.Error()})
			return
		}
		Reply(w, http.StatusOK, list)
	})
}
