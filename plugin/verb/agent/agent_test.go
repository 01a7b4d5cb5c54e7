// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/docker/cli/opts"
	"github.com/spf13/pflag"
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
