// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/gitpush"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// ls lists the commands that may be called.
func ls(c *call.VerbCall, args []string) error {
	flags := newFlags("ls")
	asJSON := flags.Bool("json", false, "")
	agents := flags.Bool("agents", false, "")
	if ok, err := flags.parse(c, args); !ok {
		return err
	}
	switch {
	case flags.NArg() > 0, *asJSON && *agents:
		return flags.failArguments(c, "takes only --json or --agents")
	case *asJSON:
		return printJSON(c, commands(c.Policy()))
	case *agents:
		return c.Print([]byte(Agents(c.Policy(), c.GitRemotes())))
	}
	return c.Print(append(renderCommands(c.Policy()), renderGit(c.Policy(), c.GitRemotes())...))
}

func renderCommands(p *policy.Policy) []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	list := commands(p)
	elsewhere := slices.ContainsFunc(list, func(c command) bool { return c.Where != host })
	ruled := slices.ContainsFunc(list, func(c command) bool { return c.Call != c.Name })
	for _, c := range append([]command{{Name: "COMMAND", Action: "ACTION", Where: "WHERE", Call: "CALL"}}, list...) {
		fmt.Fprint(w, c.Name, "\t", c.Action)
		if elsewhere {
			fmt.Fprint(w, "\t", c.Where)
		}
		if ruled {
			fmt.Fprint(w, "\t", c.Call)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.Bytes()
}

// renderGit returns the line that makes git in the container use git-push, if it may.
func renderGit(p *policy.Policy, remotes gitpush.Remotes) []byte {
	if !usesGitPush(p) {
		return nil
	}
	return []byte("\ngit uses remotes through the host after this command, typed in the repository:\n  " + remotes.Setup() + "\n" + remoteList("", remotes))
}

// usesGitPush reports whether git in the container may use git-push.
func usesGitPush(p *policy.Policy) bool {
	c, ok := p.Lookup(policy.GitPush)
	return ok && c.Action != policy.Deny && p.Broken == ""
}

// remoteList returns a line for each remote, after indent.
func remoteList(indent string, remotes gitpush.Remotes) (text string) {
	for _, name := range slices.Sorted(maps.Keys(remotes)) {
		text += indent + "hostexec::" + name + " is " + names.Plain(remotes[name]) + "\n"
	}
	return text
}

type command struct {
	Name   string `json:"name"`
	Action string `json:"action"`
	Where  string `json:"where"`
	Call   string `json:"call"` // the text to type, whether the container has a program of that name or not

	Sandboxed bool     `json:"sandboxed"`
	Allowed   []string `json:"allowed"` // shapes of arguments, as in policy.CallShapes
	Asked     []string `json:"asked"`
	Denied    []string `json:"denied"`
}

var host = policy.Place{}.String()

// commands returns the commands that can be called by name: proxied commands in their order, then commands that
// only have rules. Only Decide knows which of these allow a caller's arguments.
func commands(p *policy.Policy) []command {
	list := []command{} // [] in JSON, not null
	for _, c := range p.Commands {
		list = append(list, command{Name: c.Name, Action: c.Action.String(), Where: p.Place(c.Name).String(), Call: c.Name})
	}
	for _, name := range p.Names() {
		i := slices.IndexFunc(list, func(c command) bool { return c.Name == name })
		ruled := len(p.Rules[name].Rules) > 0
		switch c, _ := p.Lookup(name); {
		case i < 0:
			list = append(list, command{Name: name, Action: "rules", Where: p.Place(name).String(), Call: call.Name + " " + name})
		case ruled && !c.Explicit && c.Action == policy.Allow:
			list[i].Action = "rules"
		}
	}
	for name, callText := range map[string]string{policy.Shell: call.Name + " session", policy.GitPush: "git"} {
		if i := slices.IndexFunc(list, func(c command) bool { return c.Name == name }); i >= 0 {
			list[i].Call = callText
		}
	}
	if p.Broken != "" {
		for i := range list {
			list[i].Action = policy.Deny.String()
		}
	}
	for i := range list {
		shapes := p.CallShapes(list[i].Name)
		list[i].Sandboxed = p.Place(list[i].Name).Sandboxed
		list[i].Allowed, list[i].Asked, list[i].Denied = shapes.Allowed, shapes.Asked, shapes.Denied
	}
	return list
}

// printJSON prints a list.
func printJSON(c *call.VerbCall, list any) error {
	b, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return errors.Join(err, c.Fail(call.Failed("the list cannot be shown")))
	}
	return c.Print(append(names.ASCIIJSON(b), '\n'))
}
