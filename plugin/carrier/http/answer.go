// SPDX-License-Identifier: Apache-2.0

package http

import (
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

func (h *Listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The deadline is for the whole body, because net/http also reads the rest of a refused body.
	body := http.NewResponseController(w)
	body.SetReadDeadline(time.Now().Add(headerTimeout)) // it fails only in tests without a connection
	if code, why := h.refusal(r); code != 0 {
		writeRefusal(w, code, why)
		return
	}
	if !h.enter() {
		writeRefusal(w, http.StatusServiceUnavailable, "too many requests at a time")
		return
	}
	defer h.leave()
	g, onPort := r.Context().Value(connKey{}).(*carrier.LimitedConn)
	if onPort {
		g.MarkAuthenticated() // not before: until then it counts as unauthenticated
	}
	exec, err := h.readRequest(w, r)
	if err != nil {
		code, why := http.StatusBadRequest, err.Error()
		if tooBig := new(http.MaxBytesError); errors.As(err, &tooBig) {
			code = http.StatusRequestEntityTooLarge
		} else if errors.Is(err, os.ErrDeadlineExceeded) {
			code, why = http.StatusRequestTimeout, "the body did not arrive in time"
		}
		writeRefusal(w, code, why)
		return
	}
	body.SetReadDeadline(time.Time{})
	exec.Env = []string{"HOSTEXEC_APPROVAL_TIMEOUT=" + approvalTimeout.String()}
	ctx := r.Context()
	if onPort {
		var stop func()
		ctx, stop = withHangup(ctx, g.Conn)
		defer stop()
	}
	reply := h.call(ctx, exec)
	defer reply.close()
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(readTimeout)) // it fails only in tests without a connection
	code := http.StatusOK
	if reply.why.Status == "unsupported" {
		code = http.StatusBadRequest
	}
	writeAnswer(w, code, reply.result(), reply)
}

// writeRefusal answers a request that is refused before it becomes a call.
func writeRefusal(w http.ResponseWriter, code int, why string) {
	if code == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	writeAnswer(w, code, result{status: statusError, reason: why, code: wire.CodeFailed}, &reply{out: &output{}, err: &output{}})
}

// writeAnswer writes an answer. An error means that the client has hung up.
func writeAnswer(w http.ResponseWriter, code int, a result, r *reply) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	writeObject(w,
		jsonField{"status", a.status}, jsonField{"pattern", a.pattern}, jsonField{"reason", a.reason}, jsonField{"exit_code", a.code},
		jsonField{"stdout", r.out}, jsonField{"stderr", r.err}, jsonField{"truncated", r.out.truncated || r.err.truncated})
}
