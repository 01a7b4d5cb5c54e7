// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// devcontainer has the parts of a devcontainer.json that a tool for dev containers reads.
type devcontainer struct {
	Image, RemoteUser string
	InitializeCommand []string
	Mounts, RunArgs   []string
	RemoteEnv         map[string]string
}

var localEnv = regexp.MustCompile(`\$\{localEnv:(\w+)(?::([^}]*))?\}`)

// expand replaces variables as such a tool does (containers.dev, json_reference).
func (h *Host) expand(s, id string) string {
	s = strings.ReplaceAll(s, "${devcontainerId}", id)
	s = strings.ReplaceAll(s, "${containerEnv:PATH}", imagePath)
	return localEnv.ReplaceAllStringFunc(s, func(v string) string {
		m := localEnv.FindStringSubmatch(v)
		for _, kv := range h.environ() {
			if value, ok := strings.CutPrefix(kv, m[1]+"="); ok {
				return value
			}
		}
		return m[2]
	})
}

// devRun returns the commands with which a tool starts the container name: the initializeCommand, and docker run. env has
// the flags of docker exec for a process in the container: its user and its environment.
func (d devcontainer) devRun(h *Host, id, name string) (initialize, run, env []string) {
	all := func(words []string) (out []string) {
		for _, w := range words {
			out = append(out, h.expand(w, id))
		}
		return out
	}
	run = []string{"run", "-d", "--name", name, "--label", runLabel, "--network", "none",
		"--mount", "type=bind,source=" + h.Work + ",target=/workspaces/work", "-w", "/workspaces/work"}
	for _, m := range all(d.Mounts) {
		run = append(run, "--mount", m)
	}
	run = append(append(run, all(d.RunArgs)...), h.expand(d.Image, id), "sh", "-c", "exec tail -f /dev/null")
	if d.RemoteUser != "" {
		env = append(env, "-u", d.RemoteUser)
	}
	for k, v := range d.RemoteEnv {
		env = append(env, "-e", k+"="+h.expand(v, id))
	}
	return all(d.InitializeCommand), run, env
}

// TestIntegrationDevcontainerExample uses the example as a tool does, from the first start to a
// rebuild.
func TestIntegrationDevcontainerExample(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	h.State = filepath.Join(h.Home, ".docker", "hostexec") // as the example has it
	h.Env = []string{"IMAGE=" + image(t, "busybox")}
	check(t, os.CopyFS(h.Work, os.DirFS(filepath.Join("..", "examples", "devcontainer"))))
	var d, printed devcontainer
	check(t, json.Unmarshal(readFile(t, filepath.Join(h.Work, ".devcontainer", "devcontainer.json")), &d))
	check(t, json.Unmarshal([]byte(h.Must(t, "hostexec", "devcontainer", "--proxy", "make")), &printed))
	printed.Image = d.Image
	if !reflect.DeepEqual(d, printed) {
		t.Errorf("the example is %+v, and printed is %+v", d, printed)
	}

	const id = "0k3c9vq2m5h1example"
	name := unique("dev")
	initialize, run, env := d.devRun(h, id, name)
	t.Cleanup(func() { h.Docker(t, "rm", "-f", name) })
	made := func(what string) {
		t.Helper()
		r := h.Docker(t, append(append([]string{"exec"}, env...), name, "make", "hello", "FROM="+what)...)
		want(t, what, r.Out, "hello, "+what+": this is the make of the host, in work\n")
	}
	h.Must(t, initialize[1:]...) // without docker
	h.Must(t, run...)
	made("me")
	want(t, "status", h.Must(t, "hostexec", "status", "--format", "{{.Container}} {{.State}}"), name+" running\n")
	session := h.Sessions(t)
	var rec struct {
		Args []string `json:"global_args"`
	}
	check(t, json.Unmarshal(readFile(t, filepath.Join(session[0], "session.json")), &rec))
	want(t, "the session keeps its engine", len(rec.Args), 2)

	h.Must(t, "rm", "-f", name) // the tool rebuilds it
	h.Must(t, initialize[1:]...)
	h.Must(t, run...)
	made("rebuilt")
	h.Must(t, "stop", "-t0", name)
	h.Must(t, initialize[1:]...) // and starts it again
	h.Must(t, "start", name)
	made("again")
	want(t, "sessions", strings.Join(h.Sessions(t), " "), strings.Join(session, " "))
	h.Must(t, "rm", "-f", name)
	h.quiet(t, leaves)
	h.Must(t, "hostexec", "prune", "-f")
	left, err := filepath.Glob(filepath.Join(h.State, "services", "*"))
	check(t, err)
	want(t, "links left", len(left), 0)

	for _, tt := range []struct{ args, err string }{
		{"devcontainer", "no command is proxied"},
		{"devcontainer --proxy no-such-command", "'no-such-command' not found"},
		{"devcontainer --proxy make --start ../x", "not the id of a dev container"},
		{"devcontainer --proxy make --start ${devcontainerId}", "is too old"},
	} {
		r := h.Docker(t, append([]string{"hostexec"}, strings.Fields(tt.args)...)...)
		if r.Code != 125 || !strings.Contains(r.Err, tt.err) || r.Out != "" {
			t.Errorf("%s: %v", tt.args, r)
		}
	}
	h.quiet(t, soon)
}
