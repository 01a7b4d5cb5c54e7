// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestCheckAgent: policy check finds what docker hostexec agent would refuse, and only that.
func TestCheckAgent(t *testing.T) {
	t.Setenv("HOSTEXEC_HOME", t.TempDir())
	t.Chdir(t.TempDir())
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
		var out bytes.Buffer
		root := newRootCommand(testCLI(t, &out))
		root.SetArgs([]string{"policy", "check"})
		root.SilenceErrors, root.SilenceUsage = true, true
		err := root.Execute()
		var got []string
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, "warning: ") && err != nil {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if strings.Join(got, "\n") != tt.want || (err == nil) != (tt.want == "") {
			t.Errorf("agent: %s: %q, %v, want %q", tt.section, got, err, tt.want)
		}
	}
}
