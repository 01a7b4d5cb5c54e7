// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"A": "a", "EMPTY": "", "REF": "${A}"}[name]
		return v, ok
	}
	for _, tt := range []struct {
		in, want string
		unset    []string
	}{
		{"plain", "plain", nil},
		{"${A}", "a", nil},
		{"x${A}y${A}z", "xayaz", nil},
		{"$A $$A $${A}", "$A $A ${A}", nil},
		{"${NONE}", "", []string{"NONE"}},
		{"${NONE:-d}${EMPTY:-e}${A:-f}${NONE:-}", "dea", nil},
		{"${EMPTY}", "", nil},
		{"${REF}", "${A}", nil},
		{"${}${1}${a-b}${A", "${}${1}${a-b}${A", nil},
		{"$$$$", "$$", nil},
	} {
		got, unset := Expand(tt.in, lookup)
		if got != tt.want || !reflect.DeepEqual(unset, tt.unset) {
			t.Errorf("Expand(%q) = %q, %q, want %q, %q", tt.in, got, unset, tt.want, tt.unset)
		}
	}
}

func TestExpandDir(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	lookup := os.LookupEnv
	t.Setenv("XDG_STATE_HOME", "/xdg")
	for in, want := range map[string]string{
		"/a/../b": "/b", "~": "/home/me", "~/x": "/home/me/x", "$HOME/x": "/home/me/x", "${XDG_STATE_HOME}/x": "/xdg/x", "$XDG_STATE_HOME": "/xdg",
		"$XDG_NONE/x": "", "/$HOME": "/$HOME",
	} {
		if got, _ := ExpandDir(in, lookup); got != want {
			t.Errorf("ExpandDir(%q) = %q, want %q", in, got, want)
		}
	}
}

const foreign = `
server: {port: 8080}
agent:
  mode: process
  command: npx
  args: ["@zed-industries/claude-code-acp", 5]
  retries: 3
  env:
    ANTHROPIC_API_KEY: "${ANTHROPIC_API_KEY}"
    mixedCase: yes
    NOTHING:
  container:
    image: acp-relay-agent:latest
    cpu_limit: 1.0
    auto_remove: true
    pool: [a]
`

func TestLoadAgent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte(foreign), 0o666); err != nil {
		t.Fatal(err)
	}
	a, err := LoadAgent(file)
	if err != nil {
		t.Fatal(err)
	}
	warned := strings.Join(a.Warnings, "\n")
	for _, key := range []string{"server in the file", "retries in agent is", "pool in agent.container"} {
		if !strings.Contains(warned, key) {
			t.Errorf("no warning of %s in %q", key, warned)
		}
	}
	if a.Warnings = nil; len(a.problems) > 0 {
		t.Errorf("problems: %v", a.problems)
	}
	want := Agent{
		Mode: "process", Command: "npx", Args: []string{"@zed-industries/claude-code-acp", "5"},
		Env:       []Variable{{"ANTHROPIC_API_KEY", "${ANTHROPIC_API_KEY}"}, {"mixedCase", "yes"}, {"NOTHING", ""}},
		Container: map[string]string{"image": "acp-relay-agent:latest", "cpu_limit": "1.0", "auto_remove": "true"},
	}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("LoadAgent = %+v\nwant %+v", a, want)
	}
}

// TestAgentBreaksNothing checks that an error in the agent section does not affect the rules.
func TestAgentBreaksNothing(t *testing.T) {
	for _, tt := range []struct {
		text string
		bad  bool
	}{
		{"agent: {mode: process, nonsense: 1}\n", false},
		{"agent: {mode: [1]}\n", true},
		{"agent: {mode: \"\"}\n", true},
		{"agent: {mode: a, mode: b}\n", true},
		{"agent: [1]\n", true},
	} {
		store := t.TempDir()
		text := tt.text + "proxies: [make]\n"
		if err := os.WriteFile(filepath.Join(store, "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := Load(Source{Store: store})
		if c.Err != nil || len(c.Proxies) != 1 {
			t.Errorf("%q: %v, proxies %q", tt.text, c.Err, c.Proxies)
		}
		if (c.Agent.Err() != nil) != tt.bad {
			t.Errorf("%q: the agent's own error is %v", tt.text, c.Agent.Err())
		}
		fatal := false
		for _, p := range Check(Source{Store: store}) {
			fatal = fatal || p.Fatal
		}
		if fatal != tt.bad {
			t.Errorf("%q: policy check fails: %t", tt.text, fatal)
		}
	}
}
