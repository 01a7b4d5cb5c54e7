// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"regexp"
	"time"
)

// RunOptions are the options of a call of hostexec that runs a command.
type RunOptions struct {
	Command      []string
	Env          []string // variables of the command, NAME=VALUE
	Timeout      string   // as it was typed; empty: the value of HOSTEXEC_TIMEOUT
	Detach, Keep bool     // as a job; as one that may outlive its container
	Ready        Readiness
}

// Readiness is the condition for the return of a job's caller. The zero value means: when the command runs.
type Readiness struct {
	Line    *regexp.Regexp // a line of its output
	Port    uint16         // the port on which it listens; 0: none
	Timeout time.Duration
}

func (r *Readiness) none() bool { return r.Line == nil && r.Port == 0 }

// Run has the command of o decided, and runs it, or starts it as a job. It answers the call.
func (c *VerbCall) Run(ctx context.Context, o RunOptions) error {
	if err := c.x.req.setEnv(o.Env, c.x.server.now().PassEnv); err != nil {
		return c.Fail(*err)
	}
	c.x.req.Args, c.x.req.timeout = o.Command, o.Timeout
	if o.Detach {
		c.x.req.keep = o.Keep
		return c.x.detach(c.lifetime(o.Keep), ctx, o.Ready)
	}
	return c.x.command(ctx)
}
