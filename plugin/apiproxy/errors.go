// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

// statusError is an error with the HTTP status of its answer.
type statusError struct {
	status int
	error
}

func (e *statusError) Unwrap() error { return e.error }

// errNoAnswer is the error for an engine that does not answer.
func errNoAnswer(host string, err error) error {
	return &statusError{http.StatusBadGateway, cli.Hint(fmt.Errorf("the engine at %s does not answer: %w", host, err), "docker info, without hostexec")}
}

func (s *Server) refuseWithoutEngine(w http.ResponseWriter, err error) {
	refuse(w, errNoAnswer(s.Engine.DaemonHost(), err))
}

// refuse answers with err in the engine's format. An error without a status is a refusal.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusForbidden
	var statusErr *statusError
	if errors.As(err, &statusErr) {
		status = statusErr.status
	}
	text := "hostexec: " + err.Error()
	if next := cli.HintOf(err); next != "" {
		text += "\nhostexec: hint: " + next
	}
	text = escaped(text)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct { // fails if the client has left
		Message string `json:"message"`
	}{text})
}

// escaped returns text in a form that is safe to print to a terminal: text may contain parts of a client's request.
// Line breaks stay.
func escaped(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = names.Escaped(line)
	}
	return strings.Join(lines, "\n")
}
