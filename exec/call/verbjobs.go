// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// Jobs returns all jobs of the session, in the order of their start.
func (c *VerbCall) Jobs() []*job.Job { return c.x.server.Jobs.All() }

// Job returns the job whose id is ref, or the only one whose id begins with ref.
func (c *VerbCall) Job(ref string) (*job.Job, error) { return c.x.server.job(ref) }

// Running returns the calls of the container whose commands run, oldest first.
func (c *VerbCall) Running() []Running {
	return slices.DeleteFunc(c.x.server.Running(), func(r Running) bool { return r.ByHost })
}

// Leftovers returns the processes that ended commands of the container have left running.
func (c *VerbCall) Leftovers() []proctree.Leftover { return c.x.server.left.list() }

// End ends the job, call or text of a shell with this id, or the processes that one of these has left running.
// It returns when they are gone. With a signal it only sends that signal to a job's command.
func (c *VerbCall) End(ctx context.Context, id string, sig executor.Signal) error {
	return c.x.server.endForContainer(ctx, id, sig)
}
