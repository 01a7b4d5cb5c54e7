// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestWatchFails checks that a job ends if its output cannot be watched, for example without a free descriptor. Its
// caller waited for the end of a job that nobody ended.
func TestWatchFails(t *testing.T) {
	jobs, err := job.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	req := &request{Request: policy.Request{ID: "0123456789abcdef", Args: []string{"server"}}, passed: [3]int{-1, -1, -1}}
	j, err := jobs.Begin(req.ID, req.Args, "/", false)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	defer ours.Close()
	x := &exchange{server: &Server{Jobs: jobs}, req: req, peer: newPeer(theirs)}
	x.server.running.set(req.running("/", 1), func(cause error) {
		if err := j.End(job.Killed, executor.Status{Code: 143, Signal: "TERM"}, ""); err != nil || !errors.Is(cause, errKilled) {
			t.Errorf("it was killed by %v, and its end: %v", cause, err)
		}
	})
	failed := errors.New("open combined: too many open files")
	answered := make(chan error, 1)
	// ends with the answer, which is read below.
	go func() { answered <- x.answerNotReady(t.Context(), j, Readiness{Timeout: time.Hour}, failed) }()
	for {
		kind, b, err := wire.ReadFrame(ours, make([]byte, wire.MaxFrame))
		if err != nil {
			t.Fatal(err)
		}
		if kind != wire.KindExit {
			continue
		}
		if e, err := wire.ParseExit(b); err != nil || e.Outcome != wire.Failed || !strings.Contains(e.Text, failed.Error()) {
			t.Errorf("the caller got %+v, %v", e, err)
		}
		break
	}
	if err := <-answered; !errors.Is(err, failed) {
		t.Errorf("answerNotReady = %v, want %v", err, failed)
	}
}
