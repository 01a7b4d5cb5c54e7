// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// The statuses of an answer.
const (
	stApproved     = "approved"      // by a person; exit_code is the command's
	stAutoApproved = "auto_approved" // by a rule, which is pattern
	stDenied       = "denied"        // by a person or a rule
	stTimeout      = "timeout"       // nobody answered, or the command took too long
	stError        = "error"         // anything else
)

// result is an answer but for what the command wrote.
type result struct {
	status, pattern, reason string
	code                    byte
}

// result says what became of the call.
func (r *reply) result() result {
	a := result{status: stError, reason: strings.TrimPrefix(r.why.Reason, "Command denied: "), code: r.exit.Code}
	switch r.exit.Outcome {
	case wire.Exited, wire.Signaled:
		if r.asked {
			return result{status: stApproved, code: r.exit.Code}
		}
		return result{status: stAutoApproved, pattern: r.pattern, code: r.exit.Code}
	case wire.Refused:
		a.status = stDenied
	case wire.TimedOut:
		a.status = stTimeout
		if r.started {
			a.reason = "command execution timed out"
		}
	}
	switch {
	case r.why.Status == "not_found":
		a.reason = "executable not found: " + r.name
	case a.reason == "":
		a.reason = strings.TrimSpace(r.exit.Text)
	}
	return a
}

// ServeHTTP implements http.Handler.
func (h *Listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// For all of the body: net/http waits for what is not read of one that is refused.
	body := http.NewResponseController(w)
	body.SetReadDeadline(time.Now().Add(headerTimeout)) // fails in tests only, which do not dawdle
	if code, why := h.refusal(r); code != 0 {
		refuse(w, code, why)
		return
	}
	if !h.enter() {
		refuse(w, http.StatusServiceUnavailable, "too many requests at a time")
		return
	}
	defer h.leave()
	g, onPort := r.Context().Value(connKey{}).(*carrier.LimitedConn)
	if onPort {
		g.Known() // not before: as a stranger it can be crowded out
	}
	ask, err := h.read(w, r)
	if err != nil {
		code, why := http.StatusBadRequest, err.Error()
		if tooBig := new(http.MaxBytesError); errors.As(err, &tooBig) {
			code = http.StatusRequestEntityTooLarge
		} else if errors.Is(err, os.ErrDeadlineExceeded) {
			code, why = http.StatusRequestTimeout, "the body has not come in time"
		}
		refuse(w, code, why)
		return
	}
	body.SetReadDeadline(time.Time{})
	ask.Env = []string{"HOSTEXEC_APPROVAL_TIMEOUT=" + asking.String()}
	ctx := r.Context()
	if onPort {
		var stop func()
		ctx, stop = withHangup(ctx, g.Conn)
		defer stop()
	}
	reply := h.make(ctx, ask)
	defer reply.close()
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(taking)) // fails in tests only
	code := http.StatusOK
	if reply.why.Status == "unsupported" {
		code = http.StatusBadRequest
	}
	write(w, code, reply.result(), reply)
}

// withHangup returns a context that is done when the other end of conn has hung up: net/http stops looking
// at the first byte behind a request. stop ends it, and has to be called.
func withHangup(ctx context.Context, conn net.Conn) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	// ends when the caller hangs up, or with ctx.
	watching.Go(func() {
		defer cancel()
		tick := time.NewTicker(hangupInterval)
		defer tick.Stop()
		for !closedForWriting(conn) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() { cancel(); watching.Wait() }
}

// refuse answers a request that is no call.
func refuse(w http.ResponseWriter, code int, why string) {
	if code == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	write(w, code, result{status: stError, reason: why, code: wire.CodeFailed}, &reply{out: &output{}, err: &output{}})
}

// write writes an answer. It fails only if the client has gone.
func write(w http.ResponseWriter, code int, a result, r *reply) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	writeObject(w,
		jsonField{"status", a.status}, jsonField{"pattern", a.pattern}, jsonField{"reason", a.reason}, jsonField{"exit_code", a.code},
		jsonField{"stdout", r.out}, jsonField{"stderr", r.err}, jsonField{"truncated", r.out.cut || r.err.cut})
}
