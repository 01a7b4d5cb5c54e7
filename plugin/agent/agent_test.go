// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

var host = Host{Lookup: env(map[string]string{"KEY": "secret", "XDG_STATE_HOME": "/xdg"}), Workspaces: "/state/workspaces"}

func TestNew(t *testing.T) {
	defaults := Container{Image: "i:1", Network: "bridge", Base: "/state/workspaces", Path: "/workspace", Startup: 10 * time.Second}
	limited := defaults
	limited.Memory, limited.CPUs, limited.Keep, limited.Startup = 512<<20, 1e9, true, 3*time.Second
	limited.Base, limited.DockerHost, limited.Network, limited.Path = "/xdg/spaces", "unix:///s", "none", "/w"
	nonsense := map[string]string{"memory_limit": "lots", "cpu_limit": "?", "startup_timeout_seconds": "-1", "auto_remove": "perhaps"}
	for _, tt := range []struct {
		name string
		in   config.Agent
		o    Overrides
		want Spec
	}{
		{"unset is a process", config.Agent{Command: "npx", Args: []string{"-y", "a"}}, Overrides{}, Spec{Name: "npx", Mode: OnHost, Args: []string{"npx", "-y", "a"}}},
		{"a process ignores the container section", config.Agent{Command: "a", Container: nonsense}, Overrides{}, Spec{Name: "a", Mode: OnHost, Args: []string{"a"}}},
		{"the command line takes precedence", config.Agent{Mode: "container", Command: "a", Args: []string{"b"}}, Overrides{Mode: "process", Args: []string{"/x/c"}}, Spec{Name: "c", Mode: OnHost, Args: []string{"/x/c"}}},
		{"a container's defaults", config.Agent{Mode: "container", Container: map[string]string{"image": "i:1"}}, Overrides{}, Spec{Name: "i", Mode: InContainer, Container: defaults}},
		{"a container from the command line", config.Agent{Name: "me"}, Overrides{Mode: "container", Image: "i:1"}, Spec{Name: "me", Mode: InContainer, Container: defaults}},
		{"all settings of a container", config.Agent{Mode: "container", Command: "a", Container: map[string]string{
			"image": "i:1", "docker_host": "unix:///s", "network_mode": "none", "memory_limit": "512m", "cpu_limit": "1.0",
			"workspace_host_base": "$XDG_STATE_HOME/spaces", "workspace_container_path": "/w/", "auto_remove": "false", "startup_timeout_seconds": "3",
		}}, Overrides{}, Spec{Name: "a", Mode: InContainer, Args: []string{"a"}, Container: limited}},
		{"variables", config.Agent{Command: "a", Env: []config.Variable{{Name: "Api_Key", Value: "${KEY}"}, {Name: "B", Value: "$KEY$$"}}}, Overrides{},
			Spec{Name: "a", Mode: OnHost, Args: []string{"a"}, Env: []string{"Api_Key=secret", "B=$KEY$"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, warnings, err := NewSpec(tt.in, tt.o, host)
			if err != nil || len(warnings) > 0 || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("New = %+v, %q, %v\nwant %+v", got, warnings, err, tt.want)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	inContainer := func(key, value string) config.Agent {
		return config.Agent{Mode: "container", Container: map[string]string{"image": "i", key: value}}
	}
	for _, tt := range []struct {
		in   config.Agent
		want string
	}{
		{config.Agent{Mode: "foo"}, "invalid agent.mode: foo (must be 'process' or 'container')"},
		{config.Agent{Mode: "a\x1b"}, `invalid agent.mode: a\x1b (must be 'process' or 'container')`},
		{config.Agent{}, "no agent: agent.command is not set"},
		{config.Agent{Mode: "container"}, "agent.container.image is required in container mode"},
		{inContainer("memory_limit", "lots"), "agent.container.memory_limit: lots is not understood"},
		{inContainer("cpu_limit", "NaN"), "agent.container.cpu_limit: NaN is not understood"},
		{inContainer("startup_timeout_seconds", "0"), "agent.container.startup_timeout_seconds: 0 is not understood"},
		{inContainer("auto_remove", "perhaps"), "agent.container.auto_remove: perhaps is not understood"},
		{inContainer("workspace_container_path", "w"), "agent.container.workspace_container_path: w is not an absolute path below /"},
		{inContainer("workspace_host_base", "$XDG_NONE_HOME/x"), `agent.container.workspace_host_base: $XDG_NONE_HOME/x: XDG_NONE_HOME is not set`},
		{config.Agent{Command: "a", Env: []config.Variable{{Name: "A=B"}}}, "agent.env: A=B is not the name of a variable"},
	} {
		_, _, err := NewSpec(tt.in, Overrides{}, host)
		var e *Error
		if !errors.As(err, &e) || e.Type != InvalidConfig || e.Message != tt.want || e.Hint == "" {
			t.Errorf("New(%+v): %v, want %q and a hint", tt.in, err, tt.want)
		}
	}
}

func TestEmptyCommand(t *testing.T) {
	for _, mode := range []Mode{OnHost, InContainer} {
		_, _, err := NewSpec(config.Agent{}, Overrides{Mode: string(mode), Args: []string{"", "x"}, Image: "i"}, host)
		var e *Error
		if !errors.As(err, &e) || e.Type != InvalidConfig || e.Message != "the agent's command is empty" {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// TestNewWarns checks that a warning has the variable's name but not the value, which may be a secret.
func TestNewWarns(t *testing.T) {
	_, warnings, err := NewSpec(config.Agent{Command: "a", Env: []config.Variable{{Name: "A", Value: "x${NONE}secret"}}}, Overrides{}, host)
	if err != nil || len(warnings) != 1 || warnings[0] != "agent.env: A: NONE is not set; an empty value is used" {
		t.Errorf("warnings = %q, %v", warnings, err)
	}
}

func TestTranslate(t *testing.T) {
	s := Spec{Args: []string{"a", "b"}, Env: []string{"K=v"}, Container: Container{Image: "i", Network: "bridge", Memory: 1 << 20, CPUs: 5e8, Path: "/workspace"}}
	config, host := translate(&s, Extra{Workspace: "/host/ws", Binds: []string{"/a:/b"}})
	for name, ok := range map[string]bool{
		"the whole command":         reflect.DeepEqual([]string(config.Entrypoint), []string{"a"}) && reflect.DeepEqual([]string(config.Cmd), []string{"b"}),
		"no terminal":               !config.Tty,
		"stdin that ends once":      config.OpenStdin && config.StdinOnce && config.AttachStdin && config.AttachStdout && config.AttachStderr,
		"environment":               reflect.DeepEqual(config.Env, []string{"K=v"}),
		"directory":                 config.WorkingDir == "/workspace",
		"limits":                    host.Memory == 1<<20 && host.NanoCPUs == 5e8 && host.NetworkMode == "bridge",
		"not removed by the engine": !host.AutoRemove,
		"no log":                    host.LogConfig.Type == "none",
		"the workspace":             len(host.Mounts) == 1 && host.Mounts[0].Source == "/host/ws" && host.Mounts[0].Target == "/workspace" && !host.Mounts[0].ReadOnly,
		"binds":                     reflect.DeepEqual(host.Binds, []string{"/a:/b"}),
	} {
		if !ok {
			t.Errorf("%s: %+v\n%+v", name, config, host)
		}
	}
	s.Args, s.Container.Keep = nil, true
	config, host = translate(&s, Extra{})
	if config.Entrypoint != nil || config.Cmd != nil || config.WorkingDir != "" || host.LogConfig.Type != "" || len(host.Mounts) != 0 {
		t.Errorf("an image's own command in its own directory: %+v\n%+v", config, host)
	}
}

func TestErrorJSON(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{unavailable(errors.New("refused")), `{"type":"docker_unavailable","message":"Cannot connect to Docker daemon. Is Docker running? Check: docker ps","cause":"refused"}`},
		{imageNotFound("x:1", nil), `{"type":"image_not_found","message":"Docker image 'x:1' not found. Build it with: docker build -t x:1 .","cause":""}`},
		{attachFailed(errors.New("why")), `{"type":"attach_failed","message":"Failed to attach to container stdio: why","cause":"why"}`},
		{exited(3, []string{"a", "b"}), `{"type":"container_exited","message":"Container exited with code 3. Last 50 log lines:\na\nb","cause":""}`},
		{exited(3, nil), `{"type":"container_exited","message":"Container exited with code 3. Last 50 log lines: none","cause":""}`},
	} {
		b, err := json.Marshal(tt.err)
		if err != nil || string(b) != tt.want {
			t.Errorf("%s, %v\nwant %s", b, err, tt.want)
		}
	}
}

// TestErrorHints checks that each error names the next step.
func TestErrorHints(t *testing.T) {
	c := Container{Startup: time.Second}
	_, _, none := NewSpec(config.Agent{}, Overrides{}, host)
	_, _, image := NewSpec(config.Agent{Mode: "container"}, Overrides{}, host)
	for _, err := range []error{unavailable(nil), imageNotFound("x", nil), attachFailed(errors.New("why")), startupTimeout(&c, nil), notFound("x", nil), none, image} {
		var e *Error
		if !errors.As(err, &e) || e.Hint == "" && !strings.Contains(e.Message, "Check: docker ps") {
			t.Errorf("%v: no hint", err)
		}
	}
}

func TestHandshake(t *testing.T) {
	lines := strings.Split(string(Handshake("/a <b>")), "\n")
	want := []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientCapabilities":{},"protocolVersion":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/a <b>","mcpServers":[]}}`, "",
	}
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("Handshake = %q\nwant %q", lines, want)
	}
}

func TestEnviron(t *testing.T) {
	got, err := Environ([]string{"PATH=/bin", "A=1", "DOCKER_CLI_PLUGIN_SOCKET=x", "HOSTEXEC_DIR=/old"}, []string{"A=2"}, "/s", false)
	if want := []string{"A=2", "PATH=/s/bin:/bin", "HOSTEXEC_DIR=/s"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Environ = %q, %v, want %q", got, err, want)
	}
	for base, want := range map[string]string{"PATH=/bin:/usr/bin": "PATH=/s/bin:/bin:/usr/bin:/s/rules", "A=1": "PATH=/s/bin:/s/rules"} {
		if got, err := Environ([]string{base}, nil, "/s", true); err != nil || !slices.Contains(got, want) {
			t.Errorf("Environ of %s with rules = %q, %v, want %s", base, got, err, want)
		}
	}
	for _, share := range []string{"/" + strings.Repeat("x", state.MaxSocketPath-7), "/a:b"} {
		if _, err := Environ(nil, nil, share, false); err == nil {
			t.Errorf("Environ takes %s", share)
		}
	}
}

func TestUIDIn(t *testing.T) {
	const passwd = "root:x:0:0::/:/bin/sh\nbroken\nnode:x:1000:1000::/home/node:/bin/sh\nbad:x:-1:0::/:\nbig:x:4294967295:0::/:\n"
	for name, want := range map[string]int{"root": 0, "node": 1000, "nod": -1, "broken": -1, "bad": -1, "big": -1, "": -1} {
		got, ok := uidIn(strings.NewReader(passwd), name)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("uidIn(%q) = %d, want %d", name, got, want)
		}
	}
}
