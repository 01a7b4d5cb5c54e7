// SPDX-License-Identifier: Apache-2.0

package http

import (
	"strings"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// The statuses of an answer.
const (
	statusApproved     = "approved"      // by a person; exit_code is the command's
	statusAutoApproved = "auto_approved" // by a rule, which is pattern
	statusDenied       = "denied"        // by a person or a rule
	statusTimeout      = "timeout"       // no answer in time, or the command took too long
	statusError        = "error"         // anything else
)

// result is an answer without the output.
type result struct {
	status, pattern, reason string
	code                    byte
}

// result returns the result of the call.
func (r *reply) result() result {
	a := result{status: statusError, reason: strings.TrimPrefix(r.why.Reason, "Command denied: "), code: r.exit.Code}
	switch r.exit.Outcome {
	case wire.Exited, wire.Signaled:
		if r.asked {
			return result{status: statusApproved, code: r.exit.Code}
		}
		return result{status: statusAutoApproved, pattern: r.pattern, code: r.exit.Code}
	case wire.Refused:
		a.status = statusDenied
	case wire.TimedOut:
		a.status = statusTimeout
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
