// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/docker/cli/cli/flags"
	"github.com/docker/cli/opts"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/plugin/cli/clitest"
	"github.com/docker-hostexec/hostexec/plugin/launch"
)

// TestWorkspaceArg checks that the argument after --workspace is its directory if it exists or has a slash.
func TestWorkspaceArg(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("app", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ typed, workspace, image, command string }{
		{"--workspace app --image i -- cat x", "app", "i", "cat x"},
		{"--workspace /none/app", "/none/app", "", ""},
		{"--image i --workspace app cat", "app", "i", "cat"},
		{"--workspace cat app", ".", "", "cat app"},
		{"--workspace -- app", ".", "", "app"},
		{"--workspace --image i app", ".", "i", "app"},
		{"--workspace=app cat", "app", "", "cat"},
		{"app", "", "", "app"},
	} {
		o := agentOptions{labels: opts.NewListOpts(opts.ValidateLabel)}
		flags := pflag.NewFlagSet("agent", pflag.ContinueOnError)
		o.addFlags(flags)
		before := os.Args
		os.Args = append([]string{"docker-hostexec", "hostexec", "agent"}, strings.Fields(tt.typed)...)
		err := flags.Parse(os.Args[3:])
		args := flags.Args()
		if err == nil {
			args, err = o.workspaceArg(flags, args)
		}
		os.Args = before
		if err != nil || o.run.Workspace != tt.workspace || o.image != tt.image || !slices.Equal(args, strings.Fields(tt.command)) {
			t.Errorf("agent %s: workspace %q, image %q, command %q, %v", tt.typed, o.run.Workspace, o.image, args, err)
		}
	}
}

// TestEngine checks that an agent's session keeps its engine, whatever docker's settings are later.
func TestEngine(t *testing.T) {
	before := os.Args
	defer func() { os.Args = before }()
	os.Args = []string{"docker-hostexec", "hostexec", "agent"}
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("DOCKER_CONTEXT", "")
	for _, tt := range []struct{ name, env, file, want string }{
		{"the default", "", "", "unix:///default.sock"},
		{"the file", "", "unix:///file.sock", "unix:///file.sock"},
		{"the environment", "unix:///env.sock", "unix:///file.sock", "unix:///env.sock"},
	} {
		t.Setenv("DOCKER_HOST", tt.env)
		dockerCLI, given := clitest.New(t, io.Discard), flags.NewClientOptions()
		given.Hosts = []string{cmp.Or(tt.env, "unix:///default.sock")} // without a setting, docker's default
		if err := dockerCLI.Initialize(given); err != nil {
			t.Fatal(err)
		}
		r := &agentRun{cli: dockerCLI, plan: &launch.Plan{}}
		r.spec.Container.DockerHost = tt.file
		api, err := r.engine()
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		api.Close()
		if rec := r.plan.Record; rec.Engine != tt.want || !slices.Equal(rec.GlobalArgs, []string{"--host", tt.want}) {
			t.Errorf("%s: engine %s, arguments %v, want %s", tt.name, rec.Engine, rec.GlobalArgs, tt.want)
		}
	}
}
