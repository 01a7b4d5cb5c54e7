// SPDX-License-Identifier: Apache-2.0

package call

import (
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// What a command has started may go on when it has ended itself: it stays until the session
// ends, and until then it can be seen, and ended by the id of the request that it came of.

// kindLeft is what ps calls it.
const kindLeft = "left"

// leftRow is a row of what a call or a job left.
func leftRow(l proctree.Left) row {
	return row{ID: l.ID, Kind: kindLeft, Status: job.Running, Args: l.Args, PID: l.PID, Started: l.Since}
}

// EndLeft ends what the command of request id has left running, and returns when it is gone.
// It reports whether there was anything.
func (s *Server) EndLeft(id string) bool {
	was, err := proctree.EndLeft(id, proctree.DefaultGrace)
	if err != nil {
		s.Log.Error("end what was left", "request", id, "error", err)
	}
	return was
}
