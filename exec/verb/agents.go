// SPDX-License-Identifier: Apache-2.0

package verb

import (
	_ "embed" // the text
	"fmt"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/gitpush"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// agentsText is the part of Agents that does not depend on the policy.
//
//go:embed agents.md
var agentsText string

const (
	maxAgents      = 32 << 10 // bytes after which Agents describes no other command
	maxAgentShapes = 20       // shapes of one list
	maxAgentShape  = 300      // bytes of a shape; a part of a shape could mislead
)

// moreShapes replaces what exceeds a limit of Agents.
const moreShapes = "more: hostexec ls --json"

// Agents returns what an agent in a container should know about p, in Markdown. It shows no more than hostexec ls.
func Agents(p *policy.Policy, remotes gitpush.Remotes) string {
	before, after, _ := strings.Cut(agentsText, "@COMMANDS@\n")
	var b strings.Builder
	b.WriteString(before)
	list := commands(p)
	switch {
	case p.Broken != "":
		b.WriteString("The host's configuration is broken: every call is refused. Tell the person.\n")
	case len(list) == 0:
		b.WriteString("No command is listed.\n")
	}
	for _, c := range list {
		if b.Len() > maxAgents {
			b.WriteString("\n" + moreShapes + "\n")
			break
		}
		c.describe(&b)
		if c.Name == policy.GitPush && usesGitPush(p) {
			b.WriteString("\nThese are operations of git in the container, after this command, typed in the repository:\n\n    " + remotes.Setup() + "\n")
			b.WriteString(remoteList("    ", remotes))
		}
	}
	return b.String() + after
}

// describe writes the section of c.
func (c command) describe(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n", c.Name)
	if c.Sandboxed {
		b.WriteString("\nIt runs in a sandbox: it can use only files of the system and the workspace (`Permission denied`).\n")
	}
	if c.Name == policy.Shell {
		fmt.Fprintf(b, "\nShells that keep their state: `%s --help`\n", c.Call)
	}
	for _, l := range []struct {
		title  string
		shapes []string
	}{{"Runs without a question:", c.Allowed}, {"Waits for a person:", c.Asked}, {"Refused:", c.Denied}} {
		if len(l.shapes) > 0 {
			fmt.Fprintf(b, "\n%s\n\n%s", l.title, c.lines(l.shapes))
		}
	}
}

// lines returns shapes as a block of code.
func (c command) lines(shapes []string) string {
	call := c.Call
	if c.Name == policy.GitPush { // its shapes are not arguments of git
		call = c.Name
	}
	var b strings.Builder
	cut := len(shapes) > maxAgentShapes
	for _, shape := range shapes[:min(len(shapes), maxAgentShapes)] {
		line := names.Plain(strings.TrimSuffix(call+" "+shape, " "+policy.NoArguments))
		if len(line) > maxAgentShape {
			cut = true
			continue
		}
		b.WriteString("    " + line + "\n")
	}
	if cut {
		b.WriteString("    (" + moreShapes + ")\n")
	}
	return b.String()
}
