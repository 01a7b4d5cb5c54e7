// SPDX-License-Identifier: Apache-2.0

package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/notify"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestProtected covers attack 119: mounts, as an engine reports them, of everything that decides
// what runs on the host. Each is refused, causes a warning, or is the user's own choice.
//
// Attacks 119, 221, 223.
func TestProtected(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(base, name) }
	home := at("state")
	t.Setenv("HOME", base)
	t.Setenv("DOCKER_CONFIG", "")
	for _, f := range []string{
		"state/config.yaml", "state/projects/w.yaml", "state/audit.log", "state/audit/1.log", "state/recordings/1", "state/sessions/0123456789ab/session.json", "state/shims/1/hostexec",
		"tools/tool", "agent/agent.yaml", "notify/tell", "scripts/tell.sh", "bin/docker-hostexec", ".docker/config.json", ".ssh/config", "w/file", "run/docker.sock",
	} {
		writeFileOrLink(t, at(f), "version: 1\n")
	}
	writeFileOrLink(t, at(".docker/cli-plugins/docker-hostexec"), "@../../bin/docker-hostexec")
	writeFileOrLink(t, at("links/link.yaml"), "@../agent/agent.yaml")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rec := state.Session{ID: "0123456789ab", InvokedIn: at("w"), Commands: []state.Command{{Name: "tool", Path: at("tools/tool")}, {Name: "none", Action: "deny"}}, Agent: &state.Agent{Mode: "container", Config: at("links/link.yaml")}}
	mc := testCheck(home, rec)
	mc.config.Load()
	mc.notifier = notify.Notifier{Command: []string{at("notify/tell"), "-c", "exec '" + at("scripts/tell.sh") + "' now"}}
	const covers, change = "covers hostexec's own state", "the container could change "
	for _, tt := range []struct {
		source             string
		writable, readOnly string // the refusal, or the warning behind "warning: ", or "" for neither
	}{
		{home, covers, covers},
		{base, covers, covers},
		{"/", covers, covers},
		{at("state/config.yaml"), covers, covers},
		{at("state/projects"), covers, covers},
		{at("state/audit.log"), covers, covers},
		{at("state/audit"), covers, covers},
		{at("state/recordings"), covers, covers},
		{at("state/sessions"), covers, covers},
		{at("state/shims"), covers, covers},
		{at("tools"), change + at("tools/tool") + ", which --proxy tool runs", ""},
		{at("tools/tool"), change + at("tools/tool") + ", which --proxy tool runs", ""},
		{at("agent"), change + at("links/link.yaml") + ", which says what agent runs", ""},
		{at("agent/agent.yaml"), change + at("links/link.yaml") + ", which says what agent runs", ""},
		{at("links"), change + at("links/link.yaml") + ", which says what agent runs", ""},
		{at("notify"), change + at("notify/tell") + ", which notifies you of requests", ""},
		{at("scripts"), change + at("scripts/tell.sh") + ", which notify.command names", ""},
		{filepath.Dir(exe), change + exe + ", which is hostexec itself", ""},
		{at(".docker/cli-plugins"), "which docker starts as hostexec", ""},
		{at(".docker"), "which docker starts as hostexec", ""},
		{at("bin"), "which docker starts as hostexec", ""},
		{"/usr/lib/docker", "which docker starts as hostexec", ""},
		{at(".docker/config.json"), "warning: names programs that docker starts", ""},
		{at(".ssh"), "warning: says who logs in as you", ""},
		{at(".ssh/config"), "warning: says who logs in as you", ""},
		{at("run/docker.sock"), "warning: the engine's socket", "warning: the engine's socket"},
		{at("w"), "", ""},
		{at("missing"), "", ""},
	} {
		for _, rw := range []bool{true, false} {
			want := tt.readOnly
			if rw {
				want = tt.writable
			}
			c := container.InspectResponse{
				ContainerJSONBase: &container.ContainerJSONBase{HostConfig: &container.HostConfig{}},
				Mounts:            []container.MountPoint{{Type: mount.TypeBind, Source: tt.source, Destination: "/m", RW: rw}},
			}
			warning, warns := strings.CutPrefix(want, "warning: ")
			err := mc.refuse(c)
			if refused := want != "" && !warns; (err != nil) != refused || refused && !strings.Contains(err.Error(), want) {
				t.Errorf("a mount of %s, writable %v: %v, want %q", tt.source, rw, err, want)
			}
			if list := strings.Join(mc.warnings(c), "\n"); err == nil && ((list != "") != warns || !strings.Contains(list, warning)) {
				t.Errorf("a mount of %s, writable %v: warnings %q, want %q", tt.source, rw, list, want)
			}
		}
	}
}
