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

// ShellHost is a Session with shells that keep state.
type ShellHost interface {
	Shells() []shell.Info
	CreateShell(ctx context.Context, name string, o ShellOptions) error
	RemoveShell(name string) bool              // waits until all its processes have ended
	InterruptText(request, signal string) bool // ends a text of RunShell whose caller got the signal; does not wait
	RunShell(ctx context.Context, by, name string, c shell.Command, o shell.Output) (int, error)
}

// ShellOptions are the options for creating a shell.
type ShellOptions struct {
	Env []string `json:"env,omitempty"`
	Dir string   `json:"cwd,omitempty"`
	In  string   `json:"in,omitempty"` // the container's name or id; empty: this host
}

// ShellCommand is a text (bash code) to run in a shell, with its options.
type ShellCommand struct {
	Text    string   `json:"command"`
	Env     []string `json:"env,omitempty"`
	Dir     string   `json:"cwd,omitempty"`
	Start   bool     `json:"start,omitempty"`      // run in a copy of the shell
	Timeout int64    `json:"timeout_ms,omitempty"` // 0: no limit
}

// ShellEvent is one line of JSON in the reply to a ShellCommand. The order is: Request alone, Waits if the shell is
// busy, PID, any number of Out and Err, then Exit or Error.
type ShellEvent struct {
	PID     int    `json:"pid,omitempty"`
	Request string `json:"request,omitempty"` // alone before the wait for the turn, and again together with PID
	Out     []byte `json:"out,omitempty"`
	Err     []byte `json:"err,omitempty"`
	Waits   bool   `json:"waits,omitempty"` // the shell is busy
	Exit    *int   `json:"exit,omitempty"`
	Error   string `json:"error,omitempty"`
	Code    int    `json:"code,omitempty"` // the exit code, if Error is set
}

// serveShells adds the paths for shells to mux.
func serveShells(mux *http.ServeMux, h ShellHost) {
	mux.HandleFunc("GET /shells", func(w http.ResponseWriter, r *http.Request) {
		Reply(w, http.StatusOK, Status{Shells: h.Shells()}.listed().Shells)
	})
	mux.HandleFunc("PUT /shells/{name}", rejectCalledProcess(func(w http.ResponseWriter, r *http.Request) {
		var o ShellOptions
		if !decodeBody(w, r, maxShellCommand, errBody, &o) {
			return
		}
		if err := h.CreateShell(r.Context(), r.PathValue("name"), o); err != nil {
			Reply(w, http.StatusInternalServerError, problem{err.Error()})
			return
		}
		Reply(w, http.StatusOK, result{Status: "created", ID: r.PathValue("name")})
	}))
	mux.HandleFunc("DELETE /shells/{name}", rejectCalledProcess(func(w http.ResponseWriter, r *http.Request) {
		// Ending the process tree may take some seconds.
		if http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)) == nil {
			h.RemoveShell(r.PathValue("name"))
			Reply(w, http.StatusOK, result{Status: "removed", ID: r.PathValue("name")})
		}
	}))
	mux.HandleFunc("POST /shells/{name}", rejectCalledProcess(func(w http.ResponseWriter, r *http.Request) {
		var c ShellCommand
		if decodeBody(w, r, maxShellCommand, errBody, &c) {
			runShell(w, r, h, c)
		}
	}))
	mux.HandleFunc("POST /texts/{id}/signal", rejectCalledProcess(func(w http.ResponseWriter, r *http.Request) {
		var body Signal
		if !decodeBody(w, r, maxDecision, "not a signal", &body) {
			return
		}
		var err error
		if !h.InterruptText(r.PathValue("id"), body.Signal) {
			err = ErrNotRunning
		}
		replyResult(w, r, "signalled", err)
	}))
}

// maxShellCommand is the maximum size of a shell command in bytes.
const maxShellCommand = 4 << 20

const errBody = "not what is wanted here"

// runShell runs c and sends its events. The command ends if the client disconnects.
func runShell(w http.ResponseWriter, r *http.Request, h ShellHost, c ShellCommand) {
	conn := http.NewResponseController(w)
	if conn.SetReadDeadline(time.Time{}) != nil || conn.SetWriteDeadline(time.Time{}) != nil {
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := &shellEvents{to: json.NewEncoder(w), flush: conn.Flush}
	command := shell.Command{Text: c.Text, Env: c.Env, Dir: c.Dir, Copy: c.Start, Timeout: time.Duration(c.Timeout) * time.Millisecond}
	code, err := h.RunShell(r.Context(), peerUser(r), r.PathValue("name"), command, shell.Output{
		Out:    eventsOf(func(b []byte) error { return out.send(ShellEvent{Out: b}) }),
		Err:    eventsOf(func(b []byte) error { return out.send(ShellEvent{Err: b}) }),
		Queued: func(request string) { out.send(ShellEvent{Request: request}) },
		Waits:  func() { out.send(ShellEvent{Waits: true}) },
		Started: func(request string, pid int) {
			out.send(ShellEvent{Request: request, PID: pid})
		},
		Ending: func() { _ = conn.SetWriteDeadline(time.Now().Add(time.Minute)) }, // the client may have stopped
	})
	var badName *shell.EnvNameError
	var timeout *shell.TimeoutError
	var killed *shell.KilledError
	switch {
	case err == nil:
		out.send(ShellEvent{Exit: &code})
	case errors.As(err, &killed):
		out.send(ShellEvent{Error: err.Error(), Code: killed.Code})
	case errors.As(err, &timeout):
		out.send(ShellEvent{Error: err.Error(), Code: 124})
	case errors.As(err, &badName):
		out.send(ShellEvent{Error: err.Error(), Code: 2})
	default:
		out.send(ShellEvent{Error: err.Error(), Code: 125})
	}
}

type shellEvents struct {
	mu    sync.Mutex // held while an event is written
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
