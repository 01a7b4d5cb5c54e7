// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Session is the session that Serve gives access to.
type Session interface {
	Status() Status
	Record() state.Session
	AuditLog() string            // path of the audit log
	AgentRules() string          // what an agent should know about the policy; "": calls are not served yet
	Stop(grace time.Duration)    // asks the watcher to end; does not wait. grace: from TERM to KILL; negative: the default
	Kill(id string) bool         // ends the command of a request, if it runs; does not wait
	Leftovers() []Leftover       // leftover processes of ended commands
	EndLeftovers(id string) bool // ends the leftover processes of a request's command, and waits; false: there are none
	Queue() *approval.Queue      // the waiting questions
	Jobs() []job.Info            // oldest first
	// EndJob ends a job and waits until it has ended, or sends it a signal. The error wraps job.ErrUnknown
	// or job.ErrEnded.
	EndJob(ctx context.Context, id, signal string) error
}

// Serve serves the API on ln until ln is closed.
func Serve(ln *net.UnixListener, s Session) error {
	mux := http.NewServeMux()
	serveSession(mux, s)
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, r *http.Request) {
		grace, err := time.ParseDuration(r.FormValue("grace"))
		if err != nil {
			grace = -1
		}
		s.Stop(grace)
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("POST /kill/{id}", rejectCalledProcess(func(w http.ResponseWriter, r *http.Request) { kill(w, r, s) }))
	serveJobs(mux, s)
	serveComplete(mux, s)
	serveLeft(mux, s)
	if h, ok := s.(ShellHost); ok {
		serveShells(mux, h)
	}
	serveQuestions(mux, s.Queue())
	serveStandingAnswers(mux, s.Queue())
	srv := &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10, ConnContext: withPeer}
	base, endStreams := context.WithCancel(context.Background())
	defer endStreams()
	srv.BaseContext = func(net.Listener) context.Context { return base }
	srv.RegisterOnShutdown(endStreams) // ends the event streams, which would not end by themselves
	err := srv.Serve(ownUser{ln})
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	// The client of POST /stop still needs its reply.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if srv.Shutdown(ctx) != nil {
		srv.Close() // closes connections that are not idle
	}
	return err
}

// kill ends the command of request id or its leftover processes.
func kill(w http.ResponseWriter, r *http.Request, s Session) {
	if !extendDeadlines(w) {
		return
	}
	var err error
	if id := r.PathValue("id"); !s.Kill(id) && !s.EndLeftovers(id) {
		err = ErrNotRunning
	}
	replyResult(w, r, "killed", err)
}

// OwnUserListener returns a listener that accepts from ln only connections of this user's and root's processes on this
// host, as Serve does.
func OwnUserListener(ln *net.UnixListener) net.Listener { return ownUser{ln} }

// ownUser accepts only connections of this user's and root's processes on this host. The mode of the
// socket excludes other users too, but not a container that has the socket mounted.
type ownUser struct{ *net.UnixListener }

func (l ownUser) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if admitted(c) {
			return c, nil
		}
		c.Close()
	}
}
