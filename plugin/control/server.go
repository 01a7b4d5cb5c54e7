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

// Session is what a Server controls.
type Session interface {
	Status() Status
	Record() state.Session
	AuditLog() string         // its path
	Stop(grace time.Duration) // asks the watcher to end; does not wait. grace: from TERM to KILL; negative: the default
	Kill(id string) bool      // ends the command of a request, if it runs; does not wait
	Left() []Left             // what ended commands have left running
	EndLeft(id string) bool   // ends what the command of a request has left running, and waits; false: there is nothing
	Queue() *approval.Queue   // of the requests that wait for a person
	Jobs() []job.Info         // oldest first
	// EndJob ends a job and waits until it has, or sends it a signal. The error wraps
	// job.ErrUnknown or job.ErrEnded.
	EndJob(ctx context.Context, id, signal string) error
}

// Serve answers on ln until ln is closed.
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
	mux.HandleFunc("POST /kill/{id}", byPerson(func(w http.ResponseWriter, r *http.Request) { kill(w, r.PathValue("id"), s) }))
	serveJobs(mux, s)
	serveWhole(mux, s)
	serveLeft(mux, s)
	if h, ok := s.(ShellHost); ok {
		serveShells(mux, h)
	}
	serveQuestions(mux, s.Queue())
	serveGrants(mux, s.Queue())
	srv := &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10, ConnContext: withPeer}
	base, over := context.WithCancel(context.Background())
	defer over()
	srv.BaseContext = func(net.Listener) context.Context { return base }
	srv.RegisterOnShutdown(over) // who listens to events would listen for ever
	err := srv.Serve(ownUser{ln})
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	// Whoever said stop is still to be answered.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if srv.Shutdown(ctx) != nil {
		srv.Close() // of those who do not listen
	}
	return err
}

// OwnUser returns ln without the connections that control does not answer.
func OwnUser(ln *net.UnixListener) net.Listener { return ownUser{ln} }

// ownUser accepts connections of this user's processes, and of root's, on this host only.
// The socket's mode says the first; this holds even where a container has been given it.
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
