// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// Attack 68.
func TestTrust(t *testing.T) {
	const text = "approval: {auto_approve: ['^ls$']}\ncommands: {gh: {rules: [{id: new, do: ask, argv: [api]}]}}"
	src := home(t, map[string]string{
		"state/config.yaml":  "commands: {gh: {rules: [{id: view, do: allow, argv: [view]}]}}",
		"app/.hostexec.yaml": text,
	})
	counts := func() bool { return decide(Load(src), "ls").Action == policy.Allow }
	if c := Load(src); counts() || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "not trusted") {
		t.Errorf("it has an effect without trust: %q", c.Warnings)
	}
	path, content, digest, err := ReadProposal(src)
	if err != nil || path != src.ProposalFile() || string(content) != text {
		t.Fatalf("Propose = %s, %q, %v", path, content, err)
	}
	write(t, path, text+" ")
	if err := Trust(src, digest); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("another text than the shown one is trusted: %v", err)
	}
	write(t, path, text)
	before := Load(src)
	if err := Trust(src, digest); err != nil {
		t.Fatal(err)
	}
	if !before.Stale() || !counts() || decide(Load(src), "gh", "api").Action != policy.Ask {
		t.Error("it is trusted and has no effect")
	}
	write(t, path, text+"\n")
	if counts() {
		t.Error("it has an effect after an edit")
	}
	const newer = "approval: {auto_approve: ['^id$']}"
	write(t, path, newer)
	if err := Trust(src, proposalDigest(path, []byte(newer))); err != nil {
		t.Fatal(err)
	}
	write(t, path, text)
	if counts() {
		t.Error("a restored earlier version has an effect")
	}
	if err := Trust(src, digest); err != nil {
		t.Fatal(err)
	}
	moved := src
	moved.Workspace = t.TempDir()
	write(t, moved.ProposalFile(), text)
	if decide(Load(moved), "ls").Action == policy.Allow {
		t.Error("it has an effect in another workspace")
	}
	if any, err := Distrust(src); !any || err != nil {
		t.Errorf("Distrust = %v, %v", any, err)
	}
	if any, err := Distrust(src); any || err != nil || counts() {
		t.Errorf("distrusted: %v, %v, counts %v", any, err, counts())
	}
}

// TestProposedProxies checks that a proposal does not change the host's proxies.
func TestProposedProxies(t *testing.T) {
	src := home(t, map[string]string{
		"state/config.yaml":  "proxies: [make=ask]\ncommands: {gh: {where: sandbox}}",
		"app/.hostexec.yaml": "proxies: [make, go, 'cc=ask,where=host', gh]\nservices: {web: {proxies: [gh, 'cc=ask', make=ask]}}",
	})
	_, _, digest, err := ReadProposal(src)
	if err != nil {
		t.Fatal(err)
	}
	if err := Trust(src, digest); err != nil {
		t.Fatal(err)
	}
	c := Load(src)
	if got, want := proxies(c), []string{"make=ask config.yaml:1", "go .hostexec.yaml:1", "cc=ask,where=host .hostexec.yaml:1", "gh .hostexec.yaml:1"}; c.Err != nil || !slices.Equal(got, want) {
		t.Errorf("proxies %q, %v, want %q", got, c.Err, want)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "make: not used, because the host's configuration has make=ask") {
		t.Errorf("warnings %q", c.Warnings)
	}
}

// TestProposalLimits checks that a workspace can add rules but not change the host's values.
//
// Attack 68.
func TestProposalLimits(t *testing.T) {
	const base = "proxies: [make=ask]\ncommands:\n  gh:\n    exec: /usr/bin/gh\n    where: sandbox\n    rules: [{id: no, do: deny, argv: [api]}]\n"
	for name, text := range map[string]string{
		"a rule of the host's": "commands: {gh: {rules: [{id: no, do: allow, argv: [api]}]}}",
		"the program":          "commands: {gh: {exec: /tmp/evil}}",
		"a proxied program":    "commands: {make: {exec: /tmp/evil}}",
		"the environment":      "commands: {gh: {env: {set: {A: b}}}}",
		"the place":            "proxies: ['gh,where=host']",
		"another place":        "proxies: ['gh,where=container:x']",
		"the action":           "proxies: [gh=allow]",
		"a denial":             "proxies: [gh=deny]",
		"the path":             "proxies: [gh=/tmp/evil]",
		"jobs that stay":       "proxies: ['gh,keep']",
		"a service's action":   "services: {web: {proxies: ['gh=allow,where=host']}}",
		"a service's proxies":  "services: {web: {proxies: [make]}}",
		"audit":                "audit: {sync: approved}",
		"jobs":                 "jobs: {disk: 1TiB}",
		"limits":               "limits: {calls: 5000}",
		"notify":               "notify: {command: [/bin/true]}",
		"defaults":             "defaults: {tty: allow}",
		"timeout":              "approval: {timeout: 24h}",
	} {
		t.Run(name, func(t *testing.T) {
			src := home(t, map[string]string{"state/config.yaml": base, "app/.hostexec.yaml": text})
			_, _, digest, err := ReadProposal(src)
			if err != nil {
				t.Fatal(err)
			}
			if err := Trust(src, digest); err == nil || !strings.HasPrefix(err.Error(), src.ProposalFile()+":1: ") {
				t.Errorf("trusting it: %v", err)
			}
			// A proposal may have been trusted before the host configured the value. Nothing may be
			// allowed then.
			if err := os.MkdirAll(src.trustDir(), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(src.trustDir(), digest), src.ProposalFile()+"\n")
			if c := Load(src); c.Err == nil {
				t.Errorf("the workspace changed it: %+v", c.rules)
			}
		})
	}
}

// TestHostileProposal checks that hostile files in place of the proposal cost little time and do not
// affect the host's configuration.
//
// Attack 68.
func TestHostileProposal(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"nothing":     func(string) error { return nil },
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o755) },
		"a link":      func(path string) error { return os.Symlink("/etc/passwd", path) },
		"itself":      func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"10 GiB": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 10<<30))
		},
		"a socket": func(path string) error {
			l, err := net.Listen("unix", path)
			if err == nil {
				t.Cleanup(func() { l.Close() })
			}
			return err
		},
		"one of times to come": func(path string) error {
			far := time.Now().AddDate(10, 0, 0)
			return errors.Join(os.WriteFile(path, []byte("bogus: ["), 0o644), os.Chtimes(path, far, far))
		},
		"a broken one": func(path string) error { return os.WriteFile(path, []byte("bogus: ["), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			src := home(t, map[string]string{"state/config.yaml": "approval: {auto_approve: ['^ls$']}"})
			if err := plant(src.ProposalFile()); err != nil {
				t.Fatal(err)
			}
			c := Load(src)
			if c.Err != nil || decide(c, "ls").Action != policy.Allow {
				t.Errorf("the host's configuration is lost: %v", c.Err)
			}
			if _, st, _ := readForeign(src.ProposalFile()); name == "one of times to come" && st.stale() {
				t.Error("it stays stale, so that each decision would read it again")
			}
			if _, _, digest, err := ReadProposal(src); err == nil {
				if err := Trust(src, digest); err == nil {
					t.Error("it was trusted")
				}
			}
		})
	}
}

// TestCheckUnused checks that the check names each file that is not used: nothing in it holds.
func TestCheckUnused(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"an untrusted proposal": {map[string]string{"app/.hostexec.yaml": "agent: {mode: foo}"}, "not trusted, and not used"},
		"of another project":    {map[string]string{"state/projects/app.yaml": "project: /other/app"}, "is for /other/app, not for"},
		"too large a proposal":  {map[string]string{"app/.hostexec.yaml": strings.Repeat("#", 2<<20)}, "not used"},
	} {
		all := Check(home(t, tt.files))
		if len(all) != 1 || all[0].Fatal || !strings.Contains(all[0].Text, tt.want) || !strings.HasSuffix(all[0].Position, ".yaml") {
			t.Errorf("%s: Check = %+v, want a warning with the file and %q", name, all, tt.want)
		}
	}
}
