// SPDX-License-Identifier: Apache-2.0

package http

import (
	"strings"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// The statuses of an answer.
const (
	stApproved     = "approved"      // by a person; exit_code is the command's
	stAutoApproved = "auto_approved" // by a rule, which is pattern
	stDenied       = "denied"        // by a person or a rule
	stTimeout      = "timeout"       // no answer in time, or the command took too long
	stError        = "error"         // anything else
)

// result is an answer without the output.
type result struct {
	status, pattern, reason string
	code                    byte
}

// result returns the result of the call.
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
