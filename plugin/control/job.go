// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// Signal is the body of POST /jobs/{id}/signal and of POST /texts/{id}/signal.
type Signal struct {
	Signal string `json:"signal,omitempty"` // TERM, HUP ...; empty: end the job's process tree
}

// endJobTimeout is the time limit for ending a job: its grace plus the time to end the process tree.
const endJobTimeout = 20 * time.Second

// Job is the form in which a job is shown: all texts are printable ASCII.
type Job struct {
	job.Info
	Cut *Cut `json:"cut,omitempty"` // in a list: the texts are cut
}

func shownJob(info job.Info) Job {
	info.Args, info.Dir, info.Reason = names.PrintableArgs(info.Args), names.Printable(info.Dir), names.Printable(info.Reason)
	return Job{Info: info}
}

func serveJobs(mux *http.ServeMux, s Session) {
	mux.HandleFunc("GET /jobs", func(w http.ResponseWriter, r *http.Request) {
		all := []Job{} // [] in JSON, not null
		for _, info := range s.Jobs() {
			short := Job{Info: info}.listed()
			all = append(all, Job{shownJob(short.Info).Info, short.Cut})
		}
		Reply(w, http.StatusOK, all)
	})
	mux.HandleFunc("POST /jobs/{id}/signal", rejectCalledProcess(func(w http.ResponseWriter, r *http.Request) { signalJob(w, r, s) }))
}

// signalJob ends a job or sends it a signal.
func signalJob(w http.ResponseWriter, r *http.Request, s Session) {
	var body Signal
	if r.ContentLength != 0 && !decodeBody(w, r, maxDecision, "not a signal", &body) {
		return
	}
	if body.Signal != "" {
		sig, err := job.ParseSignal(body.Signal)
		if err != nil {
			Reply(w, http.StatusBadRequest, problem{err.Error()})
			return
		}
		body.Signal = sig
	}
	if !extendDeadlines(w) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), endJobTimeout)
	defer cancel()
	err := s.EndJob(ctx, r.PathValue("id"), body.Signal)
	for _, short := range []error{job.ErrUnknown, job.ErrEnded} {
		if errors.Is(err, short) {
			err = short // without the reference, which the client has sent
		}
	}
	done := "signalled"
	if body.Signal == "" {
		done = "killed"
	}
	replyResult(w, r, done, err)
}

// extendDeadlines extends the connection's deadlines to the time that ending a process tree may take.
func extendDeadlines(w http.ResponseWriter) bool {
	conn := http.NewResponseController(w)
	deadline := time.Now().Add(endJobTimeout + eventWriteTimeout)
	return conn.SetReadDeadline(deadline) == nil && conn.SetWriteDeadline(deadline) == nil
}

// Jobs returns the session's jobs.
func (c *Client) Jobs(ctx context.Context) ([]Job, error) {
	return get[[]Job](ctx, c, "/jobs")
}

// SignalJob sends a signal to a job. Without a signal it ends the job and waits until it has ended. The
// error is job.ErrUnknown or job.ErrEnded if there is no such running job.
func (c *Client) SignalJob(ctx context.Context, id, signal string) error {
	body, err := json.Marshal(Signal{signal})
	if err == nil {
		err = c.ping(ctx)
	}
	if err != nil {
		return err
	}
	_, err = c.do(ctx, http.MethodPost, "/jobs/"+id+"/signal", body, http.StatusOK)
	switch {
	case errors.Is(err, approval.ErrUnknown): // do returns it for status 404
		return job.ErrUnknown
	case errors.Is(err, approval.ErrChanged): // do returns it for status 409
		return job.ErrEnded
	}
	return err
}
