// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/shell"
)

// ShellHost is a Session that has shells with state.
type ShellHost interface {
	Shells() []shell.Info
	CreateShell(ctx context.Context, name string, o ShellOptions) error
	RemoveShell(name string) bool // waits until nothing of it is left
	RunShell(ctx context.Context, by, name string, c shell.Command, start bool, o shell.Output) (int, error)
}

// ShellOptions are what a shell is created with.
type ShellOptions struct {
	Env []string `json:"env,omitempty"`
	Dir string   `json:"cwd,omitempty"`
	In  string   `json:"in,omitempty"` // a container's name or id; empty: this host
}

// ShellCommand is a command for a shell.
type ShellCommand struct {
	Text    string   `json:"command"`
	Env     []string `json:"env,omitempty"`
	Dir     string   `json:"cwd,omitempty"`
	Start   bool     `json:"start,omitempty"`      // in a copy of the shell
	Timeout int64    `json:"timeout_ms,omitempty"` // 0: none
}

// ShellEvent is one of those that answer a ShellCommand, a line of JSON each: Waits if it has to, PID,
// then any number of Out and Err, then Exit or Error.
type ShellEvent struct {
	PID     int    `json:"pid,omitempty"`
	Request string `json:"request,omitempty"` // with PID
	Out     []byte `json:"out,omitempty"`
	Err     []byte `json:"err,omitempty"`
	Waits   bool   `json:"waits,omitempty"` // for its turn: the shell is busy
	Exit    *int   `json:"exit,omitempty"`
	Error   string `json:"error,omitempty"`
	Code    int    `json:"code,omitempty"` // the exit code, if there is an Error
}

// serveShells adds the shells to mux.
func serveShells(mux *http.ServeMux, h ShellHost) {
	mux.HandleFunc("GET /shells", func(w http.ResponseWriter, r *http.Request) {
		Reply(w, http.StatusOK, Status{Shells: h.Shells()}.listed().Shells)
	})
	mux.HandleFunc("PUT /shells/{name}", byPerson(func(w http.ResponseWriter, r *http.Request) {
		var o ShellOptions
		if !take(w, r, maxShellCommand, notWanted, &o) {
			return
		}
		if err := h.CreateShell(r.Context(), r.PathValue("name"), o); err != nil {
			Reply(w, http.StatusInternalServerError, problem{err.Error()})
			return
		}
		Reply(w, http.StatusOK, settled{Status: "created", ID: r.PathValue("name")})
	}))
	mux.HandleFunc("DELETE /shells/{name}", byPerson(func(w http.ResponseWriter, r *http.Request) {
		// Its tree has some seconds to end.
		if http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)) == nil {
			h.RemoveShell(r.PathValue("name"))
			Reply(w, http.StatusOK, settled{Status: "removed", ID: r.PathValue("name")})
		}
	}))
	mux.HandleFunc("POST /shells/{name}", byPerson(func(w http.ResponseWriter, r *http.Request) {
		var c ShellCommand
		if take(w, r, maxShellCommand, notWanted, &c) {
			runShell(w, r, h, c)
		}
	}))
}

// maxShellCommand is how much a command for a shell may be, in bytes.
const maxShellCommand = 4 << 20

const notWanted = "not what is wanted here"

// runShell runs c and tells of it as it goes. When the client goes, so does the command.
func runShell(w http.ResponseWriter, r *http.Request, h ShellHost, c ShellCommand) {
	conn := http.NewResponseController(w)
	if conn.SetReadDeadline(time.Time{}) != nil || conn.SetWriteDeadline(time.Time{}) != nil {
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := &shellEvents{to: json.NewEncoder(w), flush: conn.Flush}
	command := shell.Command{Text: c.Text, Env: c.Env, Dir: c.Dir, Timeout: time.Duration(c.Timeout) * time.Millisecond}
	code, err := h.RunShell(r.Context(), whoAsks(r), r.PathValue("name"), command, c.Start, shell.Output{
		Out:   eventsOf(func(b []byte) error { return out.send(ShellEvent{Out: b}) }),
		Err:   eventsOf(func(b []byte) error { return out.send(ShellEvent{Err: b}) }),
		Waits: func() { out.send(ShellEvent{Waits: true}) },
		Started: func(request string, pid int) {
			out.send(ShellEvent{Request: request, PID: pid})
		},
	})
	var bad *shell.EnvNameError
	var late *shell.TimeoutError
	switch {
	case err == nil:
		out.send(ShellEvent{Exit: &code})
	case errors.As(err, &late):
		out.send(ShellEvent{Error: err.Error(), Code: 124})
	case errors.As(err, &bad):
		out.send(ShellEvent{Error: err.Error(), Code: 2})
	default:
		out.send(ShellEvent{Error: err.Error(), Code: 125})
	}
}

type shellEvents struct {
	mu    sync.Mutex // held while an event is sent
	to    *json.Encoder
	flush func() error
}

func (e *shellEvents) send(event ShellEvent) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Join(e.to.Encode(event), e.flush())
}

type eventsOf func(b []byte) error

func (f eventsOf) Write(b []byte) (int, error) { return len(b), f(b) }
