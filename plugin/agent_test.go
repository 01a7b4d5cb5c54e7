// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker/cli/opts"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestCheckAgent: policy check finds what docker hostexec agent would refuse, and only that.
func TestCheckAgent(t *testing.T) {
	t.Setenv("HOSTEXEC_HOME", t.TempDir())
	store, err := state.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ section, want string }{
		{"{mode: foo}", "invalid agent.mode: foo (must be 'process' or 'container')"},
		{"{env: {A=B: x}}", "agent.env: A=B is not the name of a variable"},
		{"{mode: container, container: {cpu_limit: many}}", "agent.container.cpu_limit: many is not understood"},
		{"{container: {cpu_limit: many}}", ""},
		{"{mode: container}", ""},
		{"{}", ""},
	} {
		if err := os.WriteFile(filepath.Join(store.Home, "config.yaml"), []byte("agent: "+tt.section+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range checkHere(store, config.Source{Store: store.Home, Project: t.TempDir()}) {
			if p.Fatal {
				got = append(got, p.Text)
			}
		}
		if strings.Join(got, "\n") != tt.want {
			t.Errorf("agent: %s: %q, want %q", tt.section, got, tt.want)
		}
	}
}

// TestWorkspaceArg: the word behind --workspace is its directory, if it is one or looks like one.
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
		if err != nil || o.run.workspace != tt.workspace || o.image != tt.image || !slices.Equal(args, strings.Fields(tt.command)) {
			t.Errorf("agent %s: workspace %q, image %q, command %q, %v", tt.typed, o.run.workspace, o.image, args, err)
		}
	}
}
