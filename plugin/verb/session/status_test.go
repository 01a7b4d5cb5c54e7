// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func testSessions() []sessions.Session {
	return []sessions.Session{
		{
			Session: state.Session{
				ID: "aaaaaaaaaaaa", Version: "1", Created: noon.Add(-time.Hour), Container: strings.Repeat("c", 64), ContainerName: "web", Image: "debian",
				Commands: []state.Command{{Name: "make", Action: "allow"}, {Name: "git", Action: "ask"}}, Carrier: "socket",
				Warnings: []string{"the container is privileged", "HOST CODE EXECUTION"},
			},
			State:   sessions.StateRunning,
			Watcher: &control.Status{Carrier: "socket", CarrierWhy: "a connection has arrived", Version: "2", Calls: 7, Running: []control.Running{{}}, Shells: []shell.Info{{Name: "build"}, {Name: "q"}}, Since: noon.Add(-5 * time.Minute)},
		},
		{Session: state.Session{ID: "bbbbbbbbbbbb", Version: "1", Created: noon.Add(-3 * time.Hour), ContainerName: "db", Image: "pg", Carrier: "auto"}, State: sessions.StateLost},
	}
}

func TestStatusTable(t *testing.T) {
	var out bytes.Buffer
	if err := writeStatus(&out, testSessions(), statusOptions{format: "table"}, noon); err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"SESSION", "CONTAINER", "IMAGE", "COMMANDS", "CARRIER", "STATE", "WARNINGS", "CALLS", "SINCE"},
		{"aaaaaaaaaaaa", "web", "debian", "make,git=ask", "socket", "running", "2", "7", "5", "minutes", "ago"},
		{"bbbbbbbbbbbb", "db", "pg", "-", "lost", "-", "-", "3", "hours", "ago"},
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("table:\n%s", out.String())
	}
	for i, line := range lines {
		if got := strings.Join(strings.Fields(line), " "); got != strings.Join(want[i], " ") {
			t.Errorf("line %d = %q, want %q", i, got, want[i])
		}
	}
}

// TestStatusFits checks that no line of the table is wider than the terminal.
func TestStatusFits(t *testing.T) {
	all := testSessions()
	all[0].Image = "registry.example.com/you/image:1.2.3"
	for _, c := range []string{"terraform", "kubectl"} {
		all[0].Commands = append(all[0].Commands, state.Command{Name: c, Action: "ask"})
	}
	for width, limit := range map[int]int{0: 120, 80: 80, 119: 80, 120: 120, 200: 120} {
		var out bytes.Buffer
		if err := writeStatus(&out, all, statusOptions{format: "table", width: width}, noon); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := len(strings.TrimSuffix(line, "\n")); n > limit {
				t.Errorf("on %d columns a line has %d: %s", width, n, line)
			}
		}
	}
}

func TestStatusFormats(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts statusOptions
		want string
	}{
		{"quiet", statusOptions{quiet: true, format: "table"}, "aaaaaaaaaaaa\nbbbbbbbbbbbb\n"},
		{"template", statusOptions{format: "{{.Container}}={{.State}}"}, "web=running\ndb=lost\n"},
		{"own table", statusOptions{format: "table {{.State}}"}, "STATE\nrunning\nlost\n"},
		{"truncated", statusOptions{format: "{{.ContainerID}}"}, "cccccccccccc\n\n"},
		{"whole", statusOptions{format: "{{.ContainerID}}", noTrunc: true}, strings.Repeat("c", 64) + "\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := writeStatus(&out, testSessions(), tt.opts, noon); err != nil || out.String() != tt.want {
				t.Errorf("wrote %q, %v, want %q", out.String(), err, tt.want)
			}
		})
	}
	var out bytes.Buffer
	if err := writeStatus(&out, testSessions()[:1], statusOptions{format: "json"}, noon); err != nil {
		t.Fatal(err)
	}
	want := `{"Calls":"7","Carrier":"socket","CarrierWhy":"a connection has arrived","Commands":"make,git=ask","Container":"web","ContainerID":"cccccccccccc","ID":"aaaaaaaaaaaa",` +
		`"Image":"debian","Running":"1","Shells":"build,q","Since":"5 minutes ago","State":"running","Version":"2","Warned":"2","Warnings":["the container is privileged","HOST CODE EXECUTION"]}` + "\n"
	if out.String() != want {
		t.Errorf("json = %s, want %s", out.String(), want)
	}
	if err := writeStatus(&out, nil, statusOptions{format: "{{.Nope"}, noon); err == nil {
		t.Error("an invalid template was accepted")
	}
}

func TestStatusFilters(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "web db"},
		{[]string{"state=lost"}, "db"},
		{[]string{"state=lost", "state=running"}, "web db"},
		{[]string{"command=git"}, "web"},
		{[]string{"command=gi"}, ""},
		{[]string{"container=web"}, "web"},
		{[]string{"container=ccc"}, "web"},
		{[]string{"container="}, ""},
		{[]string{"id=bb"}, "db"},
		{[]string{"image=pg", "state=lost"}, "db"},
		{[]string{"image=pg", "state=running"}, ""},
	} {
		f, err := cli.ParseFilters(tt.args, sessionCriteria)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range testSessions() {
			if f.Match(s) {
				got = append(got, s.ContainerName)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("filters %q show %q, want %q", tt.args, got, tt.want)
		}
	}
	for _, bad := range []string{"state", "name=x", "=x", "", "state=", "state=up"} {
		if _, err := cli.ParseFilters([]string{bad}, sessionCriteria); err == nil {
			t.Errorf("--filter %q was accepted", bad)
		}
	}
}
