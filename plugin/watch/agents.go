// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strings"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/verb"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// agentsFile is the file in a session's share that tells agents about the policy.
const agentsFile = "AGENTS.md"

// AgentRules returns a description of the current policy for agents, or "" until the session can serve calls. It
// updates the share's copy.
func (c *Calls) AgentRules() string {
	sc := c.Server.Config()
	if sc == nil {
		return ""
	}
	c.refresh()
	return agentRules(c.Server.Config())
}

func agentRules(sc *call.SessionConfig) string { return verb.Agents(sc.Policy, sc.Git.Known()) }

// writeAgentsLocked writes the description for agents into the share, if it has changed.
func (c *Calls) writeAgentsLocked() {
	text := agentRules(c.Server.Config())
	if text == c.agents {
		return
	}
	if err := carrier.WriteFile(state.ShareDir(c.record.Dir), agentsFile, strings.TrimSuffix(text, "\n")); err != nil {
		c.log.Error("write "+agentsFile, "error", err)
		return
	}
	c.agents = text
}
