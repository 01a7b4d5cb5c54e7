// SPDX-License-Identifier: Apache-2.0

package verb_test

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// TestFlags checks that all verbs accept flags in each form.
func TestFlags(t *testing.T) {
	p := calltest.ShellPolicy(policy.Allow)
	p.Commands = append(p.Commands, policy.Command{Name: "sh", Action: policy.Allow, Path: "/bin/sh"})
	s := calltest.NewShellServer(t, p)
	id := calltest.Background(t, s, "sh", "-c", "echo out; exit 3")
	calltest.Hostexec(t, s, "wait", id)
	calltest.HostexecSession(t, s, "create", "one")
	help, sessions := "Usage: hostexec <command>", "Usage: hostexec session COMMAND"
	for _, tt := range []struct {
		words string
		code  byte
		out   string // part of
		says  string // part of
	}{
		{"logs -f " + id, 0, "out\n", ""},
		{"logs " + id + " --follow=true --combined", 0, "out\n", ""},
		{"logs -- " + id, 0, "out\n", ""},
		{"logs -- -f", 125, "", "no such job: -f"},
		{"wait -- " + id, 3, "", ""},
		{"wait -x " + id, 125, "", "wait: unknown shorthand flag: 'x' in -x: see hostexec --help"},
		{"kill -sHUP " + id, 1, "", "it has ended"},
		{"kill --signal=HUP " + id, 1, "", "it has ended"},
		{"kill " + id + " -s", 125, "", "kill: flag needs an argument: 's' in -s"},
		{"ps --json=false", 0, "REQUEST", ""},
		{"ps --json", 0, `"id": "` + id, ""},
		{"--timeout=5s sh -c exit\t4 -d --bogus", 4, "", ""},
		{"-d=false sh -c exit\t5", 5, "", ""},
		{"session exec one --env=A=b --timeout 5s -- echo $A -x", 0, "b -x\n", ""},
		{"session exec --env A=b one -- echo $A --env", 0, "b --env\n", ""},
		{"session exec one -- echo -- x", 0, "-- x\n", ""},
		{"session exec one echo", 125, "", "session exec wants the name of one shell, -- and a text: see hostexec session --help"},
		{"session exec one --", 125, "", "session exec wants -- and a text after the name"},
		{"session exec -- one echo", 125, "", "session exec wants the name of one shell, -- and a text"},
		{"session exec one two -- echo", 125, "", "session exec wants the name of one shell, -- and a text"},
		{"session ls x", 125, "", "session ls takes no name"},
		{"session rm", 125, "", "session rm wants the name of one shell"},
		{"session create --in=/x two", 125, "", "session create: --in: /x cannot be the name of a container"},
		{"session start --timeout soon one -- :", 125, "", "session start: --timeout: want a time such as 5s, 2m or 300: soon"},
		{"session exce one -- :", 125, "", "session: unknown verb: exce: did you mean hostexec session exec? see hostexec session --help"},
		{"session bogus", 125, "", "session: unknown verb: bogus: see hostexec session --help"},
		{"session create --envv A=b two", 125, "", "session create: unknown flag: --envv: did you mean --env? see hostexec session --help"},
		{"--timeut 5 sh", 125, "", "unknown flag: --timeut: did you mean --timeout? see hostexec --help"},
		{"session create --env A two", 2, "", "Invalid environment variable name: A: want NAME=VALUE"},
		{"session exec --env A one -- :", 2, "", "Invalid environment variable name: A: want NAME=VALUE"},
		{"session exec --env 1=A one -- :", 2, "", "Invalid environment variable name: 1\n"},
		{"ps --jsno", 125, "", "ps: unknown flag: --jsno: did you mean --json? see hostexec --help"},
		{"-h", 0, help, ""},
		{"--help", 0, help, ""},
		{"ls --help", 0, help, ""},
		{"ps -h", 0, help, ""},
		{"logs --help", 0, help, ""},
		{"wait --help", 0, help, ""},
		{"kill x --help", 0, help, ""},
		{"session", 0, sessions, ""},
		{"session exec --help", 0, sessions, ""},
		{"session create -h", 0, sessions, ""},
	} {
		words := strings.Split(tt.words, " ")
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "\t", " ")
		}
		c := calltest.Hostexec(t, s, words...)
		if c.Exit.Code != tt.code || !strings.Contains(c.Out.String(), tt.out) || tt.out == "" && c.Out.Len() > 0 || !strings.Contains(c.Exit.Text, tt.says) || tt.says == "" && c.Exit.Text != "" {
			t.Errorf("hostexec %s: code %d, stdout %q, says %q, want %d, %q, %q", tt.words, c.Exit.Code, c.Out.String(), c.Exit.Text, tt.code, tt.out, tt.says)
		}
	}
}
