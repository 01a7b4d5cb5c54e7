// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/sandbox"
	"github.com/docker-hostexec/hostexec/plugin/cli/clitest"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// What run writes for scripts is what docker run writes.
func TestBannerIsForTerminals(t *testing.T) {
	var out bytes.Buffer
	l := testLaunch()
	l.CLI = clitest.New(t, &out)
	l.Writable = []string{"/src"}
	l.printCommands()
	if out.Len() != 0 {
		t.Errorf("said %q where there is no terminal", out.String())
	}
	l.CLI.Err().SetIsTerminal(true)
	l.printCommands()
	hint := "hostexec: hint: --proxy make,where=sandbox keeps that code from your other files\r\n"
	if sandbox.Supported() != nil {
		hint = ""
	}
	if strings.Contains(out.String(), "hostexec: \r\n") {
		t.Errorf("banner = %q: it has a line of nothing", out.String())
	}
	l.CommandDirs = "commands run in /src"
	l.Plan.Record.Commands = []state.Command{{Name: "kubectl", Action: "allow", Path: "/usr/bin/kubectl"}, {Name: "uname", Action: "allow", Path: "/usr/bin/uname"}, {Name: "git", Action: "allow", Path: "/usr/bin/git"}, {Name: "gh", Action: "ask", Path: "/usr/bin/gh"},
		{Name: "terraform", Action: "allow", Path: "/usr/bin/terraform"}, {Name: "docker", Action: "allow", Path: "/usr/bin/docker"}}
	l.printCommands()
	for _, want := range []string{
		"hostexec: commands run in /src\r\n",
		"hostexec: session 0123456789ab: make runs on", "hostexec: HOST CODE EXECUTION: make runs code from /src,",
		"hostexec: host code execution not known: nothing says whether kubectl runs code from /src, which the container can write\r\n",
		"hostexec: possible host code execution: git, gh may run code from /src,",
		hint,
		"hostexec: hint: no sandbox is possible for terraform, docker: --proxy terraform=ask --proxy docker=ask asks you before each call\r\n",
		"hostexec: hint: --proxy git-push pushes and fetches without running git in the container's files\r\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("banner = %q, want %q in it", out.String(), want)
		}
	}
}

// TestScriptsAreWarnedOfTheConfiguration: a proposal that is not trusted is no secret of terminals.
func TestScriptsAreWarnedOfTheConfiguration(t *testing.T) {
	var out bytes.Buffer
	l := testLaunch()
	l.CLI = clitest.New(t, &out)
	l.Plan.Config.Warnings = []string{"/src/.hostexec.yaml is not trusted, and not used: docker hostexec trust shows it"}
	l.Announce()
	if want := "hostexec: warning: " + l.Plan.Config.Warnings[0] + "\n"; out.String() != want {
		t.Errorf("a script is told %q, want %q", out.String(), want)
	}
}

func TestPrivilegedCommandIsWarnedOf(t *testing.T) {
	var out bytes.Buffer
	l := testLaunch()
	l.CLI = clitest.New(t, &out)
	l.Plan.Record.Commands[0].Path = program(t, t.TempDir()+"/sudo", 0o755|os.ModeSetuid)
	l.warnPrivs()
	if out.Len() != 0 {
		t.Errorf("said %q where there is no terminal", out.String())
	}
	l.CLI.Err().SetIsTerminal(true)
	l.warnPrivs()
	if text := out.String(); strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\r\n") || !strings.Contains(text, "is setuid") || !strings.Contains(text, "--allow-new-privs") {
		t.Errorf("said %q, want one line that names --allow-new-privs", text)
	}
	out.Reset()
	l.Plan.Record.NewPrivs = true
	l.warnPrivs()
	if out.Len() != 0 {
		t.Errorf("said %q although it is allowed", out.String())
	}
}

// TestRulesOfAgentOnHost checks that the banner of an agent on this host names no container: there is none.
func TestRulesOfAgentOnHost(t *testing.T) {
	home := t.TempDir()
	text := "commands: {onlyrule: {exec: /bin/echo, rules: [{id: a, do: allow, effects: [read], argv: [x]}]}}\n"
	if err := os.WriteFile(home+"/config.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[string]string{
		"process":   "if the agent's PATH has a program of that name, call hostexec onlyrule\r\n",
		"container": "if the container has a program of that name, call hostexec onlyrule\r\n",
	} {
		var out bytes.Buffer
		l := testLaunch()
		l.CLI = clitest.New(t, &out)
		l.CLI.Err().SetIsTerminal(true)
		l.Plan.Config = config.Load(config.Source{Store: home})
		l.Plan.Record.Agent = &state.Agent{Name: "a", Mode: mode}
		l.printRules([]string{"onlyrule"})
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("%s: %q, want %q", mode, out.String(), want)
		}
	}
}
