// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/cli/clitest"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestCheckAgent checks that policy check reports exactly what docker hostexec agent would refuse, in either mode.
func TestCheckAgent(t *testing.T) {
	t.Setenv("HOSTEXEC_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	store, err := state.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ section, want string }{
		{"{mode: foo}", "invalid agent.mode: foo (must be 'process' or 'container'): docker hostexec agent --mode container, or agent.mode: process"},
		{"{env: {A=B: x}}", "agent.env: A=B is not the name of a variable: write a line of agent.env as NAME: value"},
		{"{mode: container, container: {cpu_limit: many}}", "agent.container.cpu_limit: many is not understood: agent.container.cpu_limit: 1.5"},
		{"{container: {cpu_limit: many}}", "agent.container.cpu_limit: many is not understood: agent.container.cpu_limit: 1.5"}, // for --mode container
		{"{container: {memory_limit: 1g}}", ""},
		{"{mode: process, container: {workspace_container_path: w}}", "agent.container.workspace_container_path: w is not an absolute path below /: agent.container.workspace_container_path: /workspace"},
		{"{mode: container}", ""},
		{"{}", ""},
	} {
		if err := os.WriteFile(filepath.Join(store.Home, "config.yaml"), []byte("agent: "+tt.section+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		root := newRootCommand(clitest.New(t, &out))
		root.SetArgs([]string{"policy", "check"})
		root.SilenceErrors, root.SilenceUsage = true, true
		err := root.Execute()
		var got []string
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, "warning: ") && err != nil {
				got = append(got, strings.TrimSpace(line))
			}
		}
		want := tt.want
		if want != "" {
			want = filepath.Join(store.Home, "config.yaml") + ":1: " + want
		}
		if strings.Join(got, "\n") != want || (err == nil) != (tt.want == "") {
			t.Errorf("agent: %s: %q, %v, want %q", tt.section, got, err, want)
		}
	}
}

func TestEveryVerbExplainsItself(t *testing.T) {
	verbs := newRootCommand(clitest.New(t, io.Discard)).Commands()
	for len(verbs) > 0 {
		cmd := verbs[0]
		verbs = append(verbs[1:], cmd.Commands()...)
		if cmd.Hidden {
			continue
		}
		if !strings.Contains(cmd.Long, "EXIT STATUS") || cmd.Example == "" || cmd.Short == "" {
			t.Errorf("%s: help lacks a summary, an example or EXIT STATUS", cmd.CommandPath())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.Count(f.Usage, "`")%2 != 0 || strings.Count(f.Usage, "`") > 2 {
				t.Errorf("%s --%s: more than one backquoted word breaks the help: %s", cmd.CommandPath(), f.Name, f.Usage)
			}
		})
	}
}

func TestUnknownVerbFails(t *testing.T) {
	for _, args := range [][]string{{"bogus"}, {"status", "bogus"}, {"inspect"}, {"stop"}, {"logs"}, {"logs", "a", "b"}, {"resume"}, {"prune", "x"}} {
		root := newRootCommand(clitest.New(t, io.Discard))
		top := &cobra.Command{Use: "docker", SilenceErrors: true, SilenceUsage: true}
		top.AddCommand(root)
		top.SetArgs(append([]string{"hostexec"}, args...))
		if err := top.Execute(); err == nil {
			t.Errorf("docker hostexec %s succeeded", strings.Join(args, " "))
		}
	}
}

// TestHelpHasFields checks that each help text with --format lists the fields of a template.
func TestHelpHasFields(t *testing.T) {
	root := newRootCommand(clitest.New(t, io.Discard))
	for verb, want := range map[string]string{
		"status": ".CarrierWhy", "ps": ".Directory", "pending": ".Callers", "audit": ".Duration", "doctor": ".Means", "version": ".GoVersion",
		"inspect": ".Watcher", "policy ls": ".DockerHost", "shell ls": ".Age",
	} {
		cmd, _, err := root.Find(strings.Fields(verb))
		if err != nil {
			t.Fatal(err)
		}
		before, after, ok := strings.Cut(cmd.Long, "FIELDS OF A TEMPLATE\n")
		if !ok || !strings.Contains(after, want) || strings.Count(before+after, "EXIT STATUS") > 1 || !strings.HasSuffix(before, "\n\n") {
			t.Errorf("%s --help: %q, want it to name %s", verb, cmd.Long, want)
		}
		for line := range strings.Lines(after) {
			if len(line) > 101 {
				t.Errorf("%s --help: a line of %d columns: %s", verb, len(line), line)
			}
		}
	}
}

// TestMistypedVerb checks that a mistyped verb gets the right one as a hint, with any flags.
func TestMistypedVerb(t *testing.T) {
	for args, want := range map[string]string{
		"statsu": "docker hostexec status", "rum --proxy make x": "docker hostexec run", "policy ad -- make": "docker hostexec policy add",
		"help polcy": "docker hostexec policy", "service --x instal": "", "bogus": "docker hostexec --help", "help policy ad": "docker hostexec policy add",
		"\x1b[2J": "docker hostexec --help",
	} {
		root := newRootCommand(clitest.New(t, io.Discard))
		top := &cobra.Command{Use: "docker", SilenceErrors: true, SilenceUsage: true}
		top.AddCommand(root)
		top.SetArgs(append([]string{"hostexec"}, strings.Fields(args)...))
		var out bytes.Buffer
		code := cli.Report(&out, top.Execute())
		if code != 1 || want != "" && !strings.HasSuffix(out.String(), "\nhostexec: hint: "+want+"\n") || strings.Contains(out.String(), "\x1b") {
			t.Errorf("docker hostexec %s: %d, %q, want the hint %q", args, code, out.String(), want)
		}
	}
}

func TestUnknownFlag(t *testing.T) {
	for verb, want := range map[string]int{"run": 125, "agent": 125, "attach": 125, "compose": 125, "devcontainer": 125, "proxy": 125, "status": 1, "stop": 1} {
		root := newRootCommand(clitest.New(t, io.Discard))
		root.SilenceErrors, root.SilenceUsage = true, true
		root.SetArgs([]string{verb, "--bogus"})
		var out bytes.Buffer
		if code := cli.Report(&out, root.Execute()); code != want || !strings.HasPrefix(out.String(), "unknown flag: --bogus") {
			t.Errorf("%s --bogus: %d, %q, want %d and docker's words", verb, code, out.String(), want)
		}
	}
}

// TestMistypedFlag checks that a mistyped flag gets the right one as a suggestion.
func TestMistypedFlag(t *testing.T) {
	for args, want := range map[string]string{
		"run --porxy make x": "--porxy: did you mean --proxy?", "logs --flollow x": "--flollow: did you mean --follow?",
		"shell exec --timout 5s a b -- c": "--timout: did you mean --timeout?", "proxy --anyuser make": "--anyuser: did you mean --any-user?",
		"agent --porxy make -- true": "--porxy: did you mean --proxy?", "policy add --aks -- make": "--aks: did you mean --ask?",
	} {
		root := newRootCommand(clitest.New(t, io.Discard))
		root.SilenceErrors, root.SilenceUsage = true, true
		root.SetArgs(strings.Fields(args))
		var out bytes.Buffer
		if cli.Report(&out, root.Execute()); !strings.HasPrefix(out.String(), "unknown flag: "+want+"\n") {
			t.Errorf("%s: %q, want %q", args, out.String(), want)
		}
	}
}

// TestWrongCommandLine checks the exit codes for wrong command lines. Verbs that exit with the code of another program
// use 125.
func TestWrongCommandLine(t *testing.T) {
	for args, want := range map[string]int{
		"attach": 125, "attach a b": 125, "proxy": 125, "proxy --dir": 125, "proxy --shutdown-grace x make": 125, "proxy --dir a --global make": 125, "devcontainer x": 125, "shell exec": 125, "shell exec a b": 125, "shell exec --bogus a b -- c": 125,
		"shell start a": 125, "shell exec --timeout -1s a b -- c": 125, "shell create a": 1, "shell create --bogus a b": 1, "detach": 1, "stop": 1,
	} {
		root := newRootCommand(clitest.New(t, io.Discard))
		root.SilenceErrors, root.SilenceUsage = true, true
		root.SetArgs(strings.Fields(args))
		if code := cli.Report(io.Discard, root.Execute()); code != want {
			t.Errorf("%s: %d, want %d", args, code, want)
		}
	}
}

func TestBadValueOfAgentsFlag(t *testing.T) {
	root := newRootCommand(clitest.New(t, io.Discard))
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs([]string{"agent", "--memory", "bogus", "--", "true"})
	var out bytes.Buffer
	if code := cli.Report(&out, root.Execute()); code != 125 || !strings.Contains(out.String(), "bogus") {
		t.Errorf("agent --memory bogus: %d, %q, want 125", code, out.String())
	}
}

func TestEmptyModeOfAgent(t *testing.T) {
	t.Setenv("HOSTEXEC_HOME", t.TempDir())
	root := newRootCommand(clitest.New(t, io.Discard))
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs([]string{"agent", "--mode=", "--", "true"})
	var out bytes.Buffer
	if code := cli.Report(&out, root.Execute()); code != 125 || !strings.Contains(out.String(), "--mode: want process or container") {
		t.Errorf("agent --mode=: %d, %q, want 125", code, out.String())
	}
}

func TestVersionFormats(t *testing.T) {
	v := versionInfo{Version: "1.2.3", GoVersion: "go1.26", Os: "linux", Arch: "arm64", Shims: []string{"amd64", "arm"}}
	for format, want := range map[string]string{
		"":                          "docker hostexec version 1.2.3, go1.26, linux/arm64\nshims: amd64 arm\n",
		"json":                      `{"Version":"1.2.3","GoVersion":"go1.26","Os":"linux","Arch":"arm64","Shims":["amd64","arm"]}` + "\n",
		"{{.Version}} on {{.Arch}}": "1.2.3 on arm64\n",
	} {
		var out bytes.Buffer
		if err := writeVersion(&out, format, v); err != nil || out.String() != want {
			t.Errorf("format %q: %q, %v, want %q", format, out.String(), err, want)
		}
	}
	if err := writeVersion(io.Discard, "{{.Nope}}", v); err == nil {
		t.Error("a field that is none was shown")
	}
}
