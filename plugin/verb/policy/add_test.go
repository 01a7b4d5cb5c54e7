// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/cli/clitest"
	"github.com/docker-hostexec/hostexec/plugin/config"
)

// TestRemoveHint checks that the hint removes the rule of the file that was to be changed.
func TestRemoveHint(t *testing.T) {
	src := config.Source{Store: t.TempDir(), Project: "/home/u/app"}
	if err := os.Mkdir(filepath.Dir(src.ProjectFile()), 0o700); err != nil {
		t.Fatal(err)
	}
	const both = "{id: both, do: ask, argv: [x]}"
	for file, text := range map[string]string{
		src.GlobalFile():  "commands: {git: {rules: [" + both + ", {id: one, do: ask, argv: [y]}]}}",
		src.ProjectFile(): "commands: {git: {rules: [" + both + "]}}",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := config.Load(src).Policy(nil)
	for _, tt := range []struct{ title, file, want string }{
		{"git/one", src.GlobalFile(), "docker hostexec policy rm git/one"},
		{"git/both", src.ProjectFile(), "docker hostexec policy rm git/both"},
		{"git/both", src.GlobalFile(), "edit " + src.GlobalFile()},
	} {
		if got := removeHint(p, "git", tt.title, tt.file); got != tt.want {
			t.Errorf("%s in %s: %s, want %s", tt.title, tt.file, got, tt.want)
		}
	}
}

// TestSayNarrowed checks where the command has to be called with hostexec. It is in PATH of a new session without --proxy.
func TestSayNarrowed(t *testing.T) {
	var out bytes.Buffer
	sayNarrowed(clitest.New(t, &out), "gh", "gh/a", true)
	want := "hostexec: gh has rules now: in this project, what none of them matches is denied, unless a session has --proxy gh=allow or =ask\n" +
		"hostexec: in running sessions, and where a container or agent has its own gh, call it as: hostexec gh\n"
	if out.String() != want {
		t.Errorf("sayNarrowed prints %q, want %q", out.String(), want)
	}
}
