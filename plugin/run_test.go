// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/streams"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func testCLI(t *testing.T, out io.Writer) *command.DockerCli {
	t.Helper()
	dockerCLI, err := command.NewDockerCli(command.WithOutputStream(out), command.WithErrorStream(out),
		command.WithInputStream(streams.NewIn(io.NopCloser(strings.NewReader("")))))
	if err != nil {
		t.Fatal(err)
	}
	return dockerCLI
}

// A docker/cli that has a flag of our names would panic at each start.
func TestRunHasOurFlagsAndDockers(t *testing.T) {
	cmd := newRunCommand(testCLI(t, io.Discard))
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
		t.Errorf("aliases = %q: help would say that this is docker run", cmd.Annotations["aliases"])
	}
}

func TestRunFlagsStopAtTheImage(t *testing.T) {
	cmd := newRunCommand(testCLI(t, io.Discard))
	if err := cmd.ParseFlags([]string{"--proxy", "a", "--workspace", "img", "cc", "--proxy", "b"}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(cmd.Flags().Args(), " "); got != "img cc --proxy b" {
		t.Errorf("arguments = %q, want all from the image on", got)
	}
	if got, _ := cmd.Flags().GetStringArray("proxy"); len(got) != 1 {
		t.Errorf("--proxy = %q, want only the one before the image", got)
	}
}

func TestEveryVerbExplainsItself(t *testing.T) {
	root := newRootCommand(testCLI(t, io.Discard))
	for _, cmd := range root.Commands() {
		if cmd.Hidden {
			continue
		}
		if !strings.Contains(cmd.Long, "EXIT STATUS") || cmd.Example == "" || cmd.Short == "" {
			t.Errorf("%s: help lacks a summary, an example or EXIT STATUS", cmd.Name())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.Count(f.Usage, "`")%2 != 0 || strings.Count(f.Usage, "`") > 2 {
				t.Errorf("%s --%s: more than one backquoted word breaks the help: %s", cmd.Name(), f.Name, f.Usage)
			}
		})
	}
}

func TestVerbThatIsNoneFails(t *testing.T) {
	for _, args := range [][]string{{"bogus"}, {"status", "bogus"}, {"inspect"}, {"stop"}, {"logs"}, {"logs", "a", "b"}, {"resume"}, {"prune", "x"}} {
		root := newRootCommand(testCLI(t, io.Discard))
		top := &cobra.Command{Use: "docker", SilenceErrors: true, SilenceUsage: true}
		top.AddCommand(root)
		top.SetArgs(append([]string{"hostexec"}, args...))
		if err := top.Execute(); err == nil {
			t.Errorf("docker hostexec %s succeeded", strings.Join(args, " "))
		}
	}
}

// TestHelpHasFields: each help with --format names what a template can have.
func TestHelpHasFields(t *testing.T) {
	root := newRootCommand(testCLI(t, io.Discard))
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

// TestMistypedVerb: what was meant is the hint, whatever flags it has.
func TestMistypedVerb(t *testing.T) {
	for args, want := range map[string]string{
		"statsu": "docker hostexec status", "rum --proxy make x": "docker hostexec run", "policy ad -- make": "docker hostexec policy add",
		"help polcy": "docker hostexec policy", "service --x instal": "", "bogus": "docker hostexec --help", "help policy ad": "docker hostexec policy add",
		"\x1b[2J": "docker hostexec --help",
	} {
		root := newRootCommand(testCLI(t, io.Discard))
		top := &cobra.Command{Use: "docker", SilenceErrors: true, SilenceUsage: true}
		top.AddCommand(root)
		top.SetArgs(append([]string{"hostexec"}, strings.Fields(args)...))
		var out bytes.Buffer
		code := report(&out, top.Execute())
		if code != 1 || want != "" && !strings.HasSuffix(out.String(), "\nhostexec: hint: "+want+"\n") || strings.Contains(out.String(), "\x1b") {
			t.Errorf("docker hostexec %s: %d, %q, want the hint %q", args, code, out.String(), want)
		}
	}
}

func TestUnknownFlag(t *testing.T) {
	for verb, want := range map[string]int{"run": 125, "agent": 125, "attach": 125, "compose": 125, "devcontainer": 125, "proxy": 1, "status": 1, "stop": 1} {
		root := newRootCommand(testCLI(t, io.Discard))
		root.SilenceErrors, root.SilenceUsage = true, true
		root.SetArgs([]string{verb, "--bogus"})
		var out bytes.Buffer
		if code := report(&out, root.Execute()); code != want || !strings.HasPrefix(out.String(), "unknown flag: --bogus") {
			t.Errorf("%s --bogus: %d, %q, want %d and docker's words", verb, code, out.String(), want)
		}
	}
}

func TestBadValueOfAgentsFlag(t *testing.T) {
	root := newRootCommand(testCLI(t, io.Discard))
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs([]string{"agent", "--memory", "bogus", "--", "true"})
	var out bytes.Buffer
	if code := report(&out, root.Execute()); code != 125 || !strings.Contains(out.String(), "bogus") {
		t.Errorf("agent --memory bogus: %d, %q, want 125", code, out.String())
	}
}

// TestRunHelp has hostexec's own flags first, each flag once, and no line too wide.
func TestRunHelp(t *testing.T) {
	var out bytes.Buffer
	dockerCLI := testCLI(t, &out)
	cmd := newRunCommand(dockerCLI)
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

func TestPlan(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program(t, filepath.Join(dir, "bin/make"), 0o755)
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	o := runOptions{proxies: []string{"make"}, workspace: "link", workdirHost: ".", passEnv: []string{"CI"}, carrier: "auto", newPrivs: true}
	p, err := o.plan("img", true)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "real"); p.workspace != want {
		t.Errorf("workspace = %q, want %q", p.workspace, want)
	}
	rec := p.rec
	if rec.WorkdirHost != dir || rec.InvokedIn != dir || rec.Image != "img" || rec.Carrier != "auto" || !rec.NewPrivs ||
		len(rec.PassEnv) != 1 || rec.Commands[0].Path != filepath.Join(dir, "bin/make") || !p.keepDir {
		t.Errorf("plan = %+v", p)
	}
}

func TestPlanRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", dir)
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		opts runOptions
		want string
	}{
		{runOptions{carrier: "auto", proxies: []string{"../x"}}, "--proxy ../x"},
		{runOptions{carrier: "auto", proxies: []string{"foo"}}, "command 'foo' not found in PATH"},
		{runOptions{carrier: "pigeon"}, "--carrier pigeon"},
		{runOptions{carrier: "auto", passEnv: []string{"A=1"}}, "--pass-env A=1"},
		{runOptions{carrier: "auto", workspace: "missing"}, "--workspace"},
		{runOptions{carrier: "auto", workspace: "file"}, "not a directory"},
		{runOptions{carrier: "auto", workdirHost: "missing"}, "--workdir-host"},
	} {
		if _, err := tt.opts.plan("img", false); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("plan(%+v) = %v, want an error with %q", tt.opts, err, tt.want)
		}
	}
}

// fakeEngine is an engine of another age or system.
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
		{"of the other system", fakeEngine{"1.43", "linux"}, []string{"--cpu-count", "1"}, `"--cpu-count" is only supported on a Docker daemon running on windows, but the Docker daemon is running on linux`},
		{"of who knows what", fakeEngine{"1.43", ""}, []string{"--cpu-count", "1"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := newRunCommand(testCLI(t, io.Discard))
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

func TestRunRefusesEmptyDirectories(t *testing.T) {
	for _, args := range [][]string{{"--workspace="}, {"--workdir-host", ""}, {"--workdir-host="}} {
		cmd := newRunCommand(testCLI(t, io.Discard))
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		if named(cmd.Flags(), "workspace", "workdir-host") == nil {
			t.Errorf("%q is taken for no flag at all", args)
		}
	}
	cmd := newRunCommand(testCLI(t, io.Discard))
	if err := cmd.ParseFlags([]string{"--workspace", "img"}); err != nil {
		t.Fatal(err)
	}
	if err := named(cmd.Flags(), "workspace", "workdir-host"); err != nil {
		t.Errorf("a plain --workspace: %v", err)
	}
}
