// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// complete returns what docker offers behind args, as a shell asks it, without what it says
// of each.
func (h *Host) complete(t testing.TB, args ...string) (offers []string) {
	t.Helper()
	for line := range strings.Lines(h.Must(t, append([]string{"__complete", "hostexec"}, args...)...)) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !strings.HasPrefix(word, ":") { // what the shell is to do with them
			offers = append(offers, word)
		}
	}
	return offers
}

// TestIntegrationCompletion checks docker's completion: sessions, containers, waiting requests, commands, jobs,
// shells, and the fixed values of flags.
func TestIntegrationCompletion(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, os.Getuid() == 0)
	h.Write(t, h.State, "config.yaml", "approval: {wait: always}\n", 0o600)
	name := unique("completed")
	c := h.Holding(t, "--network", "none", "--name", name, "--proxy", "hsh=/bin/sh", "--proxy", "asked=ask,path=/bin/true")
	h.startUnknown(t, "--network", "none", "--name", unique("completed-free"))
	job, _, _ := strings.Cut(c.Exec(t, "hostexec", "-d", "hsh", "-c", "exec sleep 1000").Out, " ")
	h.Must(t, "hostexec", "shell", "create", name, "build")
	for _, tt := range []struct {
		args string // the last may be ""
		want string
		not  string
	}{
		{"", "doctor service resume status", ""},
		{"service ", "install uninstall", ""},
		{"resume ", c.Session + " " + name, ""},
		{"stop " + name + " ", "", name + " " + c.Session},
		{"start ", c.Session + " " + name, ""},
		{"inspect ", c.Session, ""},
		{"attach ", unique("completed-free"), name},
		{"attach --proxy ma", "make", "ls"},
		{"run --proxy make=", "make=ask make=deny", ""},
		{"run --proxy-shell=", "allow ask deny allow,where=sandbox", ""},
		{"run --carrier ", "auto socket relay files", ""},
		{"run ", image(t, "full"), ""},
		{"proxy ma", "make", "ls"},
		{"agent --mode ", "process container", ""},
		{"agent --image ", image(t, "full"), ""},
		{"agent --network ", "host none", ""},
		{"doctor --format ", "table json", ""},
		{"kill --signal ", "TERM KILL WINCH", ""},
		{"kill ", job, ""},
		{"logs --job ", job, ""},
		{"shell exec ", name, "build"},
		{"shell exec " + name + " ", "build", name},
		{"shell create " + name + " ", "", "build " + name},
		{"status --filter ", "state= container=", ""},
		{"status --filter state=", "state=running state=lost", ""},
		{"status --filter container=", "container=" + name, ""},
		{"audit --filter session=", "session=" + c.Session, ""},
		{"audit --filter command=", "command=hsh", ""},
		{"policy explain --session ", c.Session, ""},
		{"policy init ", "git", ""},
		{"policy add ma", "make", ""},
	} {
		got := h.complete(t, strings.Split(tt.args, " ")...)
		for word := range strings.FieldsSeq(tt.want) {
			if !slices.Contains(got, word) {
				t.Errorf("%q: %q lacks %s", tt.args, got, word)
			}
		}
		for word := range strings.FieldsSeq(tt.not) {
			if slices.Contains(got, word) {
				t.Errorf("%q: %q has %s", tt.args, got, word)
			}
		}
	}
	call := c.Start(t, "asked")
	asked := pending(t, h, "asked", 1)[0].ID
	for _, verb := range []string{"approve", "deny"} {
		want(t, verb, strings.Join(h.complete(t, verb, ""), " "), asked)
		want(t, verb+", given already", strings.Join(h.complete(t, verb, asked, ""), " "), "")
	}
	h.Must(t, "hostexec", "approve", asked)
	want(t, "code", call.Ended(t).Code, 0)
}
