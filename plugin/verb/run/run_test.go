// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/docker/cli/cli/command"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/cli/clitest"
	"github.com/docker-hostexec/hostexec/plugin/launch"
)

// TestRunHasOurFlagsAndDockers checks that run has all flags. If docker/cli gets a flag with the name of one of ours,
// NewRunCommand panics.
func TestRunHasOurFlagsAndDockers(t *testing.T) {
	cmd := NewRunCommand(clitest.New(t, io.Discard))
	for _, name := range []string{
		"proxy", "workspace", "workdir-host", "pass-env", "allow-new-privs", "carrier", "http", "cloister-compat",
		"detach", "rm", "volume", "publish", "env", "workdir", "help", "sig-proxy", "pull",
	} {
		if cmd.Flags().Lookup(name) == nil {
			t.Errorf("run has no flag --%s", name)
		}
	}
	if flags := cmd.Flags(); flags.Lookup("workspace").NoOptDefVal != "." || flags.Lookup("proxy").Value.Type() != "stringArray" {
		t.Error("--workspace needs no value, and a comma in --proxy separates nothing")
	}
	if cmd.Annotations["aliases"] != "" {
		t.Errorf("aliases = %q: the help would name docker run", cmd.Annotations["aliases"])
	}
}

func TestRunFlagsStopAtTheImage(t *testing.T) {
	cmd := NewRunCommand(clitest.New(t, io.Discard))
	if err := cmd.ParseFlags([]string{"--proxy", "a", "--workspace", "img", "cc", "--proxy", "b"}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(cmd.Flags().Args(), " "); got != "img cc --proxy b" {
		t.Errorf("arguments = %q, want all from the image on", got)
	}
	if got, _ := cmd.Flags().GetStringArray("proxy"); len(got) != 1 {
		t.Errorf("--proxy = %q, want only the value before the image", got)
	}
}

// TestRunHelp checks that hostexec's own flags come first, each once, and that no line is too wide.
func TestRunHelp(t *testing.T) {
	var out bytes.Buffer
	dockerCLI := clitest.New(t, &out)
	cmd := NewRunCommand(dockerCLI)
	cmd.SetOut(&out)
	if err := cmd.Usage(); err != nil {
		t.Fatal(err)
	}
	text, docker, ok := strings.Cut(out.String(), "\nOptions of docker run:\n")
	_, own, also := strings.Cut(text, "\nOptions of hostexec:\n")
	if !ok || !also {
		t.Fatalf("the flags are not grouped:\n%s", out.String())
	}
	for _, flag := range []string{"proxy", "workspace", "proxy-shell", "carrier", "http", "pass-env", "workdir-host", "allow-new-privs", "cloister-compat", "volume", "rm"} {
		mine := flag != "volume" && flag != "rm"
		if in := strings.Contains(own, "--"+flag+" "); in != mine || in == strings.Contains(docker, "--"+flag+" ") {
			t.Errorf("--%s is among hostexec's own: %v, want %v", flag, in, mine)
		}
	}
	if first := strings.TrimSpace(own); !strings.HasPrefix(first, "--proxy ") {
		t.Errorf("the first flag is %.20s", first)
	}
}

// fakeEngine is an engine with a given API version and operating system.
type fakeEngine struct{ version, os string }

func (e fakeEngine) CurrentVersion() string         { return e.version }
func (e fakeEngine) ServerInfo() command.ServerInfo { return command.ServerInfo{OSType: e.os} }

func TestSupported(t *testing.T) {
	for _, tt := range []struct {
		name   string
		engine fakeEngine
		args   []string
		want   string
	}{
		{"new enough", fakeEngine{"1.43", "linux"}, []string{"--annotation", "a=b"}, ""},
		{"too old", fakeEngine{"1.41", "linux"}, []string{"--annotation", "a=b"}, `"--annotation" requires API version 1.43, but the Docker daemon API version is 1.41`},
		{"not used", fakeEngine{"1.41", "linux"}, []string{"--rm"}, ""},
		{"another system", fakeEngine{"1.43", "linux"}, []string{"--cpu-count", "1"}, `"--cpu-count" is only supported on a Docker daemon running on windows, but the Docker daemon is running on linux`},
		{"unknown system", fakeEngine{"1.43", ""}, []string{"--cpu-count", "1"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := NewRunCommand(clitest.New(t, io.Discard))
			if err := cmd.ParseFlags(tt.args); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := supported(cmd.Flags(), tt.engine); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("supported(%q) = %q, want %q", tt.args, got, tt.want)
			}
		})
	}
}

func TestRunRefusesEmptyDirectories(t *testing.T) {
	for _, args := range [][]string{{"--workspace="}, {"--workdir-host", ""}, {"--workdir-host="}} {
		cmd := NewRunCommand(clitest.New(t, io.Discard))
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		if cli.RefuseEmpty(cmd.Flags(), "workspace", "workdir-host") == nil {
			t.Errorf("%q: the empty value is accepted", args)
		}
	}
	cmd := NewRunCommand(clitest.New(t, io.Discard))
	if err := cmd.ParseFlags([]string{"--workspace", "img"}); err != nil {
		t.Fatal(err)
	}
	if err := cli.RefuseEmpty(cmd.Flags(), "workspace", "workdir-host"); err != nil {
		t.Errorf("a plain --workspace: %v", err)
	}
}

// TestBareWorkspace checks the hint for a directory that follows --workspace without =.
func TestBareWorkspace(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string // of the hint; empty: docker run judges
	}{
		{[]string{"--workspace", "/home/you/app", "img"}, "--workspace=/home/you/app"},
		{[]string{"--workspace", "./app", "img"}, "--workspace=./app"},
		{[]string{"--workspace", "..", "img"}, "--workspace=.."},
		{[]string{"--workspace", "~/app", "img"}, "--workspace=~/app"},
		{[]string{"--workspace", "img", "/bin/sh"}, ""},
		{[]string{"--workspace=/x", "img"}, ""},
		{[]string{"--workspace"}, ""},
		{[]string{"/bin/sh"}, ""},
	} {
		cmd := NewRunCommand(clitest.New(t, io.Discard))
		if err := cmd.ParseFlags(tt.args); err != nil {
			t.Fatal(err)
		}
		err := launch.RefuseBareWorkspace(cmd.Flags(), cmd.Flags().Args())
		if got := cli.HintOf(err); (err == nil) != (tt.want == "") || got != tt.want {
			t.Errorf("%q: %v, hint %q, want hint %q", tt.args, err, got, tt.want)
		}
	}
}

// TestMissingEquals checks the hint for a value without =. docker run takes it for the image, which it does not find.
func TestMissingEquals(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("app", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want string }{
		{"--workspace app img", "--workspace=/"},
		{"--workspace img", ""},
		{"--proxy-shell ask img", "--proxy-shell=ask"},
		{"--proxy-shell deny,in=web img", "--proxy-shell=deny,in=web"},
		{"--proxy-shell --workspace allow", "--proxy-shell=allow"},
		{"--proxy-shell=allow ask", "--proxy-shell=ask"},
		{"--proxy-shell=ask allow", ""},
		{"--proxy-shell img ask", ""},
		{"--http :9000 img", "--http=:9000"},
		{"--http img", ""},
		{"ask", ""},
	} {
		cmd := NewRunCommand(clitest.New(t, io.Discard))
		if err := cmd.ParseFlags(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}
		got := launch.HintMissingEquals(cmd.Flags(), cmd.Flags().Arg(0))
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: hint %q, want %q", tt.args, got, tt.want)
		}
	}
}
