// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Attacks by which the container supplies what the host finds by a name.

// hostWithWorkspacePath is a host whose PATH has directories of the workspace before all others: one by its
// name, one by a link, one that is not there yet, and those that every directory has.
func hostWithWorkspacePath(t *testing.T) *Host {
	t.Helper()
	h, _ := hostWithCanary(t)
	h.mkdir(t, filepath.Join(h.Work, "bin"))
	check(t, os.Symlink("work/linked", filepath.Join(h.Home, "bin")))
	entries := []string{filepath.Join(h.Work, "bin"), filepath.Join(h.Home, "bin"), filepath.Join(h.Work, "later", "bin"), "", ".", "node_modules/.bin"}
	h.Env = append(h.Env, "PATH="+strings.Join(append(entries, os.Getenv("PATH")), ":"), "BASH_ENV="+filepath.Join(h.Work, "env"), "KUBECONFIG="+filepath.Join(h.Work, "kube"))
	h.Write(t, h.Home, "tool", "#!/bin/bash\nuname\n", 0o755)
	h.Write(t, h.Home, "found", "#!/usr/bin/env cat\nLinux\n", 0o755)
	h.Write(t, h.Home, "theirs", "#!"+h.Work+"/bin/uname\n", 0o755)
	h.Write(t, filepath.Join(h.Work, "bin"), "uname", "#!/bin/sh\necho EVIL\n", 0o755)
	return h
}

// writePrograms makes a uname and a cat of the container's wherever the host's PATH would find one.
const writePrograms = `mkdir -p bin linked later/bin node_modules/.bin; printf '#!/bin/sh\necho EVIL\n' > uname; chmod +x uname
	for d in bin linked later/bin node_modules/.bin; do cp uname $d/; cp uname $d/cat; done; echo 'echo EVIL' > env; `

// TestIntegrationAttackPath plants a program in each directory of the host's PATH that it can
// write, and has proxied programs, jobs, shells and rules look for one of that name.
//
// Attacks 62, 214.
func TestIntegrationAttackPath(t *testing.T) {
	h := hostWithWorkspacePath(t)
	rule := "\n    rules: [{id: r, do: allow, accept: host-code-execution, argv: []}]\n"
	c := ruled(t, h, "version: 1\ncommands:\n  set:\n    exec: "+h.Home+"/tool\n    env: {set: {PATH: '"+h.Work+"/bin:.:/usr/bin:/bin'}}"+rule+
		"  theirs:\n    exec: "+h.Home+"/theirs"+rule+"  arch: {exec: "+h.Home+"/found, rules: [{id: r, do: allow, effects: [read], argv: []}]}\n",
		"--proxy", "tool="+h.Home+"/tool", "--proxy", "found="+h.Home+"/found", "--proxy", "uname", "--proxy-shell")
	for name, call := range map[string]string{
		"a program": "tool", "an interpreter by env": "found", "a name that PATH has": "uname", "a job": "id=$(hostexec -d tool | (read id _; echo $id)); hostexec wait $id; hostexec logs $id",
		"a shell": "hostexec session create s >/dev/null; hostexec session exec s -- uname", "a PATH that a rule sets": "hostexec set", "env in a rule": "hostexec arch",
	} {
		if r := c.Sh(t, writePrograms+call); strings.Contains(r.Out+r.Err, "EVIL") || !strings.HasSuffix(r.Out, "Linux\n") {
			t.Errorf("%s: %v", name, r)
		}
	}
	if r := c.Sh(t, writePrograms+"hostexec theirs"); r.Code != 126 || !strings.Contains(r.Err, "the container could change") {
		t.Errorf("a script of its interpreter: %v", r)
	}
	r := h.Run(t, "--rm", "-v", h.Work+":/w", "--proxy", "theirs="+h.Home+"/theirs", image(t, "busybox"), "true")
	if r.Code != 125 || !strings.Contains(r.Err, "is code of "+h.Home+"/theirs") {
		t.Errorf("proxied, a script of its interpreter: %v", r)
	}
	check(t, os.WriteFile(filepath.Join(h.Work, "bin", "only"), []byte("#!/bin/sh\n"), 0o755))
	r = h.Run(t, "--rm", "-v", h.Work+":/w", "--proxy", "only", image(t, "busybox"), "true")
	if r.Code != 125 || !strings.Contains(r.Err, "could change "+h.Work+"/bin/only") {
		t.Errorf("proxied, what only it has: %v", r)
	}
}

// TestIntegrationAttackPathProxy does the same for a proxied directory, without an engine.
//
// Attack 62.
func TestIntegrationAttackPathProxy(t *testing.T) {
	h := hostWithWorkspacePath(t)
	h.Proxy(t, "uname tool="+h.Home+"/tool")
	for _, name := range []string{"tool", "uname"} {
		if r := h.feed(t, "", h.Client(name)); r.Out != "Linux\n" {
			t.Errorf("%s: %v", name, r)
		}
	}
}

// TestIntegrationAttackHostValues checks on every carrier that programs, settings and temporary
// files of a command are the host's, although the container sends other values.
//
// Attack 77.
func TestIntegrationAttackHostValues(t *testing.T) {
	h, _ := hostWithCanary(t)
	mine := []string{"PATH=/opt/bin:" + os.Getenv("PATH"), "HOME=" + h.Home, "SHELL=/bin/sh", "TMPDIR=" + h.Home, "XDG_CONFIG_HOME=/opt/config", "XDG_DATA_DIRS=/opt/share:/usr/share", "XDG_RUNTIME_DIR=/opt/run"}
	h.Env = append(h.Env, mine...)
	lie := "export HOME=/w SHELL=/w/evil TMPDIR=/w XDG_CONFIG_HOME=/w XDG_DATA_DIRS=/w XDG_RUNTIME_DIR=/w XDG_CACHE_HOME=/w XDG_DATA_HOME=/w PATH=/w:$PATH; "
	for _, carrier := range []string{"socket", "relay", "files"} {
		t.Run(carrier, func(t *testing.T) {
			c := h.Holding(t, "--carrier", carrier, "--proxy", "henv=/usr/bin/env")
			got := strings.Split(c.Sh(t, lie+"henv").Out, "\n")
			for _, kv := range mine {
				if !slices.Contains(got, kv) {
					t.Errorf("%s is missing", kv)
				}
			}
			for _, kv := range got {
				if name, value, _ := strings.Cut(kv, "="); strings.HasPrefix(value, "/w") && name != "PWD" || name == "XDG_CACHE_HOME" || name == "XDG_DATA_HOME" {
					t.Errorf("the container said %s", kv)
				}
			}
		})
	}
	if r := h.Run(t, "--rm", "--pass-env", "PATH", image(t, "busybox"), "true"); r.Code != 125 || !strings.Contains(r.Err, "--pass-env PATH: ") {
		t.Errorf("--pass-env PATH: %v", r)
	}
}

// TestIntegrationPathReports checks that run, doctor and policy check report the directories of
// PATH that a container supplies, by the current directory and by another session's mounts. No
// report is an error.
//
// Attack 215.
func TestIntegrationPathReports(t *testing.T) {
	h := hostWithWorkspacePath(t)
	h.Write(t, h.State, "config.yaml", "version: 1\ncommands:\n  cat:\n    prepend: ['-f', "+h.Work+"/file]\n    env: {set: {LD_PRELOAD: "+h.Work+"/x.so}}\n    rules: [{id: r, do: allow, argv: []}]\n", 0o600)
	lines := []string{
		`PATH has "` + h.Work + `/bin", which the container can write`, `PATH has "` + h.Home + `/bin", which the container can write`,
		`PATH has ".", which is in a directory`, `BASH_ENV has "` + h.Work + `/env", which`, `KUBECONFIG has "` + h.Work + `/kube", which`,
		`cat: prepend: "` + h.Work + `/file" names`, `cat: env: LD_PRELOAD has "` + h.Work + `/x.so"`,
	}
	reported := func(who, text string) {
		t.Helper()
		for _, line := range lines {
			if !strings.Contains(text, line) {
				t.Errorf("%s does not say %q: %s", who, line, text)
			}
		}
	}
	r := h.Docker(t, "hostexec", "policy", "check")
	want(t, "policy check", r.Code, 0)
	reported("policy check", r.Out)
	r = h.Docker(t, "hostexec", "doctor", "--format", "{{.Probe}} {{.Status}} {{.Found}}")
	if !strings.Contains(r.Out, "\nprograms warn "+`BASH_ENV has`) && !strings.Contains(r.Out, "\nprograms warn PATH has") {
		t.Errorf("doctor: %v", r)
	}
	m := h.term(t, "docker", "hostexec", "run", "--label", runLabel, "--rm", "-v", h.Work+":/w", "--proxy", "tool="+h.Home+"/tool", image(t, "busybox"), "echo", "over")
	reported("run", m.Expect(t, "over\r\n"))

	c := h.Holding(t, "--proxy", "tool="+h.Home+"/tool")
	elsewhere := h.Command(t.Context(), "docker", "hostexec", "policy", "check")
	elsewhere.Dir = h.Home
	out, err := elsewhere.Output()
	check(t, err)
	reported("policy check elsewhere, of session "+c.Session, string(out))
}
