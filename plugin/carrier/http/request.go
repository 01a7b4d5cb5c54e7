// SPDX-License-Identifier: Apache-2.0

package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// The headers for a token: ours, and the one of clients of cloister, another program for agents: docs/http.md.
var tokenHeaders = []string{"X-Hostexec-Token", "X-Cloister-Token"}

// GuardianHost is the name that clients of cloister use for the host.
const GuardianHost = "cloister-guardian"

// hostsOf returns the accepted Host headers of requests to at. Any other means that a name was rebound to this address.
func hostsOf(at netip.AddrPort) []string {
	port := ":" + strconv.Itoa(int(at.Port()))
	hosts := []string{at.String(), GuardianHost + port, "host.docker.internal" + port}
	if port == ":80" { // clients leave it out
		for _, h := range hosts {
			hosts = append(hosts, strings.TrimSuffix(h, port))
		}
	}
	return hosts
}

// refusal returns the HTTP status and the reason for refusing r; 0 means that it is accepted. It reads no body.
func (h *Listener) refusal(r *http.Request) (code int, why string) {
	h.mu.Lock()
	known := slices.Contains(h.hosts, r.Host)
	h.mu.Unlock()
	switch {
	case !known:
		return http.StatusMisdirectedRequest, "not a name of this host"
	case r.URL.Path != "/request" || r.URL.RawPath != "":
		return http.StatusNotFound, "only POST /request exists"
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "method not allowed: only POST /request exists"
	case r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "":
		return http.StatusForbidden, "requests from web pages are refused"
	}
	got := ""
	for _, name := range tokenHeaders {
		values := r.Header.Values(name)
		if len(values) > 1 || len(values) == 1 && got != "" && values[0] != got {
			return http.StatusUnauthorized, "invalid token"
		}
		if len(values) == 1 {
			got = values[0]
		}
	}
	switch {
	case got == "":
		return http.StatusUnauthorized, "missing token"
	case !sameSecret(got, h.token):
		return http.StatusUnauthorized, "invalid token"
	}
	return 0, ""
}

// httpRequest is the body of a request.
type httpRequest struct {
	Cmd     *string   `json:"cmd"`
	Args    []*string `json:"args"` // if present, Cmd is ignored
	Workdir string    `json:"workdir"`

	// Ignored: the listener knows which session the client belongs to.
	Project  json.RawMessage `json:"project"`
	Branch   json.RawMessage `json:"branch"`
	Cloister json.RawMessage `json:"cloister"`
	Agent    json.RawMessage `json:"agent"`
	Env      json.RawMessage `json:"env"`
}

var (
	errNotJSON   = errors.New("invalid request: want JSON such as {\"args\": [\"make\", \"test\"]}")
	errNoCommand = errors.New("invalid request: cmd or args is required")
	errNUL       = errors.New("invalid request: an argument has a NUL byte")
)

// readRequest reads the body of a request that has the token.
func (h *Listener) readRequest(w http.ResponseWriter, r *http.Request) (exec wire.Exec, err error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return exec, err
	}
	var req httpRequest
	if err := names.DecodeJSON(body, &req); err != nil {
		return exec, errInvalid(err, errNotJSON)
	}
	args, err := req.args()
	if err != nil {
		return exec, err
	}
	exec = wire.Exec{Args: args, Cwd: req.Workdir}
	if exec.Cwd == "" {
		exec.Cwd = h.cwd()
	}
	return exec, checkArgs(append(args, exec.Cwd))
}

// errInvalid returns the error for a request that is not valid JSON: plain, unless two programs could read it in
// different ways.
func errInvalid(err, plain error) error {
	var ambiguous names.AmbiguousError
	if errors.As(err, &ambiguous) {
		return fmt.Errorf("invalid request: %w", ambiguous)
	}
	return plain
}

func (req *httpRequest) args() (words []string, err error) {
	switch {
	case req.Args != nil:
		for _, arg := range req.Args {
			if arg == nil {
				return nil, errNotJSON
			}
			words = append(words, *arg)
		}
	case req.Cmd != nil:
		if words, err = splitWords(*req.Cmd); err != nil {
			return nil, errors.New("invalid request: " + err.Error())
		}
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errNoCommand
	}
	return words, nil
}

// checkArgs refuses strings that cannot be arguments of a program.
func checkArgs(words []string) error {
	for _, s := range words {
		if strings.IndexByte(s, 0) >= 0 {
			return errNUL
		}
	}
	return nil
}
