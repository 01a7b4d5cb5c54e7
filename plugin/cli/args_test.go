// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestStandalone(t *testing.T) {
	for _, tt := range []struct {
		args  string
		alone bool
		want  string
	}{
		{"p run x", true, "p hostexec run x"},
		{"p", true, "p hostexec"},
		{"p --help", true, "p hostexec --help"},
		{"p hostexec run x", true, "p hostexec run x"},
		{"p --host h hostexec watcher d", true, "p --host h hostexec watcher d"},
		{"p run --name hostexec x", true, "p hostexec run --name hostexec x"},
		{"p __complete run --pro", true, "p __complete hostexec run --pro"},
		{"p __completeNoDesc run", true, "p __completeNoDesc hostexec run"},
		{"p hostexec run x", false, "p hostexec run x"},
		{"p --context c hostexec run", false, "p --context c hostexec run"},
		{"p docker-cli-plugin-metadata", false, "p docker-cli-plugin-metadata"},
	} {
		if got := strings.Join(Standalone(strings.Fields(tt.args), tt.alone), " "); got != tt.want {
			t.Errorf("standalone(%q, %v) = %q, want %q", tt.args, tt.alone, got, tt.want)
		}
	}
}

func TestEngineArgs(t *testing.T) {
	for _, tt := range []struct {
		name                string
		args, host, context string
		want                string
	}{
		{"nothing chosen", "hostexec run x", "", "default", ""},
		{"by flag", "--context c hostexec run x", "", "c", "--context c"},
		{"by flag against the environment", "-H unix:///a hostexec run x", "unix:///b", "default", "-H unix:///a"},
		{"by DOCKER_HOST", "hostexec run x", "unix:///b", "default", "--host unix:///b"},
		{"by the current context", "hostexec run x", "", "c", "--context c"},
		{"DOCKER_HOST goes before the context", "hostexec run x", "unix:///b", "c", "--host unix:///b"},
		{"a context of our name", "--context hostexec hostexec run x", "", "hostexec", "--context hostexec"},
		{"the verb's flags are not docker's", "hostexec run --host x", "", "default", ""},
		{"others are kept", "--tls --config d hostexec run x", "", "c", "--tls --config d --context c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(engineArgs(strings.Fields(tt.args), tt.host, tt.context), " "); got != tt.want {
				t.Errorf("engineArgs(%q, %q, %q) = %q, want %q", tt.args, tt.host, tt.context, got, tt.want)
			}
		})
	}
}

func TestPinned(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"", "--host unix:///e"},
		{"--debug", "--debug --host unix:///e"},
		{"--host unix:///b", "--host unix:///b"},
		{"-c remote", "-c remote"},
	} {
		if got := strings.Join(PinEngine(strings.Fields(tt.args), "unix:///e"), " "); got != tt.want {
			t.Errorf("pinned(%q) = %q, want %q", tt.args, got, tt.want)
		}
	}
	if got := PinEngine(nil, ""); len(got) != 0 {
		t.Errorf("pinned without an endpoint = %q", got)
	}
}

func TestEngineArgsKeepsWhatItIsGiven(t *testing.T) {
	args := []string{"hostexec", "run"}
	engineArgs(args, "unix:///b", "")
	if want := []string{"hostexec", "run"}; !slices.Equal(args, want) {
		t.Errorf("args = %q, want %q", args, want)
	}
}
