// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"errors"
	"fmt"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// errIsCall means that an id of hostexec ps is not of a job, but of a call or of the processes that it has left.
var errIsCall = errors.New("is a call, not a job")

// findJob returns the job whose id is ref, or the only one whose id begins with ref.
func findJob(c *call.VerbCall, ref string) (*job.Job, error) {
	j, err := c.Job(ref)
	if errors.Is(err, job.ErrUnknown) {
		if _, listed := listedAs(rows(c), ref); listed == nil {
			err = fmt.Errorf("%s %w", names.Printable(call.Truncate(ref)), errIsCall)
		}
	}
	return j, err
}

// noSuchJob is the failure of a verb whose job does not exist.
func noSuchJob(err error) call.Failure {
	hint := "hostexec ps lists them"
	if errors.Is(err, errIsCall) {
		hint = "its caller gets its output and its exit code; hostexec -d starts a job"
	}
	return call.Failure{Status: call.StatusFailed, Reason: err.Error(), Hint: hint}
}
