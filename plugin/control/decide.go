// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// maxDecision is the maximum size of a decision in bytes.
const maxDecision = 64 << 10

// serveQuestions adds the paths for questions and decisions to mux.
func serveQuestions(mux *http.ServeMux, q *approval.Queue) {
	mux.HandleFunc("GET /pending", func(w http.ResponseWriter, r *http.Request) { Reply(w, http.StatusOK, pending(q)) })
	mux.HandleFunc("GET /events", rejectCalledProcess(func(w http.ResponseWriter, r *http.Request) { events(w, r, q) }))
	mux.HandleFunc("POST /approve/{id}", rejectCalledProcess(func(w http.ResponseWriter, r *http.Request) {
		decide(w, r, "approved", func(d Decision) error { return approve(q, r.PathValue("id"), d, peerUser(r)) })
	}))
	mux.HandleFunc("POST /deny/{id}", rejectCalledProcess(func(w http.ResponseWriter, r *http.Request) {
		decide(w, r, "denied", func(d Decision) error { return deny(q, r.PathValue("id"), d, peerUser(r)) })
	}))
}

// approve approves the question id as shown in d. If d has terms, it also creates a grant.
func approve(q *approval.Queue, id string, d Decision, by string) error {
	terms, err := d.Terms()
	if err != nil {
		return err
	}
	if terms == (approval.Terms{}) {
		return q.Approve(id, d.Digest, d.Waiting, by)
	}
	return q.Grant(id, d.Digest, d.Waiting, by, terms)
}

// deny denies the question id as shown in d, once or for this session.
func deny(q *approval.Queue, id string, d Decision, by string) error {
	terms, err := d.Terms()
	switch terms {
	case approval.Terms{}:
		if err != nil {
			return err
		}
		return q.Deny(id, d.Digest, d.Reason, by)
	case approval.Terms{Always: true}:
		return q.DenyAlways(id, d.Digest, d.Reason, by)
	}
	return approval.ErrTerms
}

func pending(q *approval.Queue) []Question {
	all := []Question{} // [] in JSON, not null
	for _, ask := range q.Pending() {
		all = append(all, listed(ask))
	}
	return all
}

// decide reads a decision from the request body and calls settle with it.
func decide(w http.ResponseWriter, r *http.Request, done string, settle func(Decision) error) {
	var d Decision
	if !decodeBody(w, r, maxDecision, "not a decision", &d) {
		return
	}
	replyResult(w, r, done, settle(d))
}

// decodeBody decodes the request body of at most max bytes into v. On an error it sends a reply that begins with
// prefix, and returns false.
func decodeBody(w http.ResponseWriter, r *http.Request, max int64, prefix string, v any) bool {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, max))
	if err == nil {
		err = names.DecodeJSON(b, v)
	}
	if err != nil {
		Reply(w, http.StatusBadRequest, problem{prefix + ": " + err.Error()})
	}
	return err == nil
}

// replyResult sends the reply for a finished operation with the result err.
func replyResult(w http.ResponseWriter, r *http.Request, done string, err error) {
	if err != nil {
		Reply(w, cmp.Or(ErrorStatus(err), http.StatusInternalServerError), problem{err.Error()})
		return
	}
	Reply(w, http.StatusOK, result{Status: done, ID: r.PathValue("id")})
}

// ErrorStatus returns the HTTP status for an error that the request causes, or 0 for other errors.
func ErrorStatus(err error) int {
	var vary *approval.VaryError
	switch {
	case errors.Is(err, approval.ErrUnknown), errors.Is(err, approval.ErrNoGrant), errors.Is(err, approval.ErrNoDenial),
		errors.Is(err, ErrNotRunning), errors.Is(err, job.ErrUnknown):
		return http.StatusNotFound
	case errors.Is(err, approval.ErrChanged), errors.Is(err, job.ErrEnded):
		return http.StatusConflict
	case errors.Is(err, approval.ErrTerms), errors.Is(err, approval.ErrNoInputs), errors.As(err, &vary):
		return http.StatusBadRequest
	case errors.Is(err, ErrStartedByCall):
		return http.StatusForbidden
	}
	return 0
}

type result struct {
	Status string `json:"status"`
	ID     string `json:"id"`
}

// eventWriteTimeout is the time limit for a client to read one event.
const eventWriteTimeout = 5 * time.Second

// events sends the waiting questions, now and after each change, until the client disconnects (server-sent
// events, WHATWG HTML section 9.2). The client counts as an approver during that time.
func events(w http.ResponseWriter, r *http.Request, q *approval.Queue) {
	defer q.AddApprover()()
	conn := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	if conn.SetReadDeadline(time.Time{}) != nil { // the client sends nothing more
		return
	}
	for {
		changed := q.Changed()
		b, err := json.Marshal(pending(q))
		if err != nil || conn.SetWriteDeadline(time.Now().Add(eventWriteTimeout)) != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "event: pending\ndata: %s\n\n", b); err != nil || conn.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
