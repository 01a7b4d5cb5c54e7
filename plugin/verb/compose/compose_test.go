// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/launch"
)

func TestOptionsOf(t *testing.T) {
	tests := []struct {
		said Settings
		want launch.Options
		err  string
	}{
		{Settings{}, launch.Options{Carrier: "auto"}, ""},
		{Settings{"proxy": {"make", "git=ask"}, "pass-env": {"A"}}, launch.Options{Carrier: "auto", Proxies: []string{"make", "git=ask"}, PassEnv: []string{"A"}}, ""},
		{Settings{"workspace": {"sub"}, "workdir-host": {"/abs"}}, launch.Options{Carrier: "auto", Workspace: "/p/sub", WorkdirHost: "/abs"}, ""},
		{Settings{"workspace": {"true"}, "proxy-shell": {"true"}}, launch.Options{Carrier: "auto", Workspace: "/p", Shell: "allow"}, ""},
		{Settings{"workspace": {"false"}, "proxy-shell": {"false"}}, launch.Options{Carrier: "auto"}, ""},
		{Settings{"allow-new-privs": {"true"}, "carrier": {"relay"}}, launch.Options{Carrier: "relay", NewPrivs: true}, ""},
		{Settings{"allow-new-privs": {"false"}}, launch.Options{Carrier: "auto"}, ""},

		{Settings{"prox": {"make"}}, launch.Options{}, "unknown key prox"},
		{Settings{"service": {"web"}}, launch.Options{}, "unknown key service"},
		{Settings{"allow-new-privs": {"perhaps"}}, launch.Options{}, "allow-new-privs"},
		{Settings{"workspace": {""}}, launch.Options{}, "no directory named"},
	}
	for _, tt := range tests {
		got, err := optionsOf(tt.said, "/p")
		tt.want.Dir = "/p"
		if tt.err == "" && (err != nil || fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", tt.want)) {
			t.Errorf("optionsOf(%v) = %+v, %v, want %+v", tt.said, got, err, tt.want)
		}
		if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("optionsOf(%v): %v, want an error with %q", tt.said, err, tt.err)
		}
	}
}

// TestProviderData: what compose is told of a provider are its options, and without them it drops none.
func TestProviderData(t *testing.T) {
	d := providerMetadata()
	var up, needed []string
	for _, p := range d.Up.Parameters {
		up = append(up, p.Name)
		if p.Required {
			needed = append(needed, p.Name)
		}
	}
	if got, want := strings.Join(up, " "), "allow-new-privs context pass-env proxy proxy-shell service workdir-host"; got != want {
		t.Errorf("options of up are %q, want %q", got, want)
	}
	if strings.Join(needed, " ") != "service" || len(d.Down.Parameters) != 2 {
		t.Errorf("needed are %q, and down has %d", needed, len(d.Down.Parameters))
	}
}

// TestNameable: a service of a compose file is the name of a link in hostexec's state, and nothing else is.
func TestNameable(t *testing.T) {
	for names, want := range map[string]bool{
		"shop web": true, "shop2-x_y Web.2_x-": true, "shop ..": false, "shop .": false, ".. web": false, "-devcontainers web": false, "shop a/b": false, "a/../b web": false,
	} {
		project, service, _ := strings.Cut(names, " ")
		if got := nameable(project, service) == nil; got != want {
			t.Errorf("nameable(%q, %q) = %t, want %t", project, service, got, want)
		}
	}
}

func TestProvides(t *testing.T) {
	t.Setenv("DOCKER_CLI_PLUGIN_ORIGINAL_CLI_COMMAND", "")
	tests := []struct {
		project, args string
		want          bool
	}{
		{"", "metadata", true},
		{"p", "up --proxy=make web", true},
		{"p", "down web", true},
		{"", "up -d", false}, // somebody who types docker-hostexec compose up
		{"p", "ps", false},
		{"p", "", false},
	}
	for _, tt := range tests {
		o := composeOptions{project: tt.project}
		if got := o.provides(strings.Fields(tt.args)); got != tt.want {
			t.Errorf("of project %q, provides(%q) = %t, want %t", tt.project, tt.args, got, tt.want)
		}
	}
	t.Setenv("DOCKER_CLI_PLUGIN_ORIGINAL_CLI_COMMAND", "docker")
	if (&composeOptions{project: "p"}).provides([]string{"up"}) {
		t.Error("docker's user is taken for compose")
	}
}

func TestPortable(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	for path, want := range map[string]string{
		home + "/.docker/x": "${localEnv:HOME}/.docker/x", home + "more/x": home + "more/x", "/elsewhere": "/elsewhere",
	} {
		if got := portable(path); got != want {
			t.Errorf("portable(%q) = %q, want %q", path, got, want)
		}
	}
}
