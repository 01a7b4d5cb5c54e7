// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestBehindAPIProxy checks that clients use the API proxy, and that hostexec itself uses the engine
// behind it.
func TestBehindAPIProxy(t *testing.T) {
	const proxy = "unix:///state/api/1/docker.sock"
	for _, tt := range []struct {
		name             string
		env, args, leave []string
	}{
		{"the default", nil, nil, nil},
		{"a host", []string{"DOCKER_HOST=tcp://h:1", "DOCKER_TLS_VERIFY=1", "DOCKER_CERT_PATH=/c"}, []string{"--host", "tcp://h:1"}, []string{"DOCKER_CERT_PATH=/c", "DOCKER_HOST=tcp://h:1", "DOCKER_TLS_VERIFY=1"}},
		{"a context", []string{"DOCKER_CONTEXT=there"}, []string{"--context", "there"}, []string{"DOCKER_CONTEXT=there"}},
		{"a context over a host", []string{"DOCKER_HOST=tcp://h:1", "DOCKER_TLS=1"}, []string{"--context", "there"}, []string{"DOCKER_CONTEXT=there"}},
		{"a host over a context", []string{"DOCKER_CONTEXT=there"}, []string{"--host", "tcp://h:2"}, []string{"DOCKER_CONTEXT=there", "DOCKER_HOST=tcp://h:2"}},
		{"another proxy", []string{"DOCKER_HOST=tcp://h:1", "HOSTEXEC_WITH=unix:///other", "HOSTEXEC_WITH_DOCKER_CONTEXT=old"}, []string{"--host", "tcp://h:1"}, []string{"DOCKER_HOST=tcp://h:1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range engineVariables {
				t.Setenv(name, "")
				os.Unsetenv(name)
			}
			env := BehindAPIProxy(append([]string{"A=1"}, tt.env...), tt.args, proxy)
			if got := slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return !isEngineVariable(kv) }); len(got) != 1 || got[0] != "DOCKER_HOST="+proxy || env[0] != "A=1" {
				t.Errorf("a client has %q", env)
			}
			for _, kv := range env {
				name, value, _ := strings.Cut(kv, "=")
				t.Setenv(name, value)
			}
			if err := LeaveAPIProxy(); err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(os.Environ(), func(kv string) bool { return !isEngineVariable(kv) })
			if slices.Sort(got); !slices.Equal(got, tt.leave) {
				t.Errorf("hostexec has %q, want %q", got, tt.leave)
			}
		})
	}
}

// TestLeaveAPIProxyOfOthers checks that a user who has chosen another engine behind a proxy keeps it.
func TestLeaveAPIProxyOfOthers(t *testing.T) {
	t.Setenv("HOSTEXEC_WITH", "unix:///proxy")
	t.Setenv("HOSTEXEC_WITH_DOCKER_HOST", "tcp://h:1")
	t.Setenv("DOCKER_HOST", "tcp://mine")
	if err := LeaveAPIProxy(); err != nil || os.Getenv("DOCKER_HOST") != "tcp://mine" {
		t.Errorf("DOCKER_HOST = %q, %v", os.Getenv("DOCKER_HOST"), err)
	}
}
