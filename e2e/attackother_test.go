// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestIntegrationAttackOtherSession writes, in the container of one session, what another session's
// calls look for: a program in PATH, a variable's file, a program that a rule names. The other session mounts none of
// it, whether it starts before the writer, during its life or after it. A question about such a program does not wait
// any more.
//
// Attack 235.
func TestIntegrationAttackOtherSession(t *testing.T) {
	h, _ := hostWithCanary(t)
	shared, private := h.Home+"/shared", h.Home+"/private"
	h.mkdir(t, shared+"/bin")
	h.mkdir(t, private)
	h.Env = append(h.Env, "PATH="+shared+"/bin:"+os.Getenv("PATH"), "BASH_ENV="+shared+"/env")
	h.Write(t, h.Home, "tool", "#!/bin/bash\nuname\n", 0o755)
	h.Write(t, shared+"/bin", "mine", "#!/bin/sh\necho mine\n", 0o755)
	h.Write(t, shared, "ruled", "#!/bin/sh\necho ruled\n", 0o755)
	h.Write(t, h.State, "config.yaml", "version: 1\napproval: {wait: always}\ncommands:\n  ruled: {exec: "+shared+"/ruled, rules: [{id: r, do: allow, effects: [read], argv: []}, {id: a, do: ask, argv: [ask]}]}\n", 0o600)
	writer := []string{"-v", shared + ":/s", "--proxy", "true", image(t, "full"), "/probe", "hold"}
	victim := h.Detached(t, "-v", private+":/a", "-w", "/a", "--proxy", "tool="+h.Home+"/tool", "--proxy", "uname", image(t, "full"), "/probe", "hold")
	calls := func(when string) {
		t.Helper()
		for _, call := range []string{"tool", "uname"} {
			if r := victim.Exec(t, call); r.Out != "Linux\n" {
				t.Errorf("%s: %s: %+v", when, call, r)
			}
		}
	}
	calls("before")
	want(t, "a program of a rule", victim.Sh(t, "hostexec ruled").Out, "ruled\n")

	asked := victim.Start(t, "hostexec", "ruled", "ask")
	pending(t, h, "ruled ask", 1)
	evil := h.Detached(t, writer...)
	r := asked.Ended(t)
	if r.Code != 126 || !strings.Contains(r.Err, "the container of another session could change") {
		t.Errorf("a question that waited when the other container came: %+v", r)
	}
	plant := func() {
		t.Helper()
		want(t, "plant", evil.Sh(t, `printf '#!/bin/sh\necho EVIL\n' >/s/bin/uname; chmod +x /s/bin/uname; echo 'echo EVIL' >/s/env; cp /s/bin/uname /s/ruled`).String(), Result{}.String())
	}
	plant()
	calls("while the other container is there")
	r = victim.Sh(t, "hostexec ruled")
	if r.Code != 126 || !strings.Contains(r.Err, "the container of another session could change \""+shared+"/ruled\"") {
		t.Errorf("a program of a rule: %+v", r)
	}
	status, _ := victim.warned(t)
	if !strings.Contains(status, "which the container of another session can write") {
		t.Errorf("inspect does not warn: %s", status)
	}
	late := h.Run(t, "--rm", "--proxy", "uname", "--proxy", "tool="+h.Home+"/tool", image(t, "full"), "tool")
	want(t, "a session that starts later", late.Out, "Linux\n")

	check(t, os.Remove(filepath.Join(shared, "env")))
	check(t, os.Remove(filepath.Join(shared, "bin", "uname")))
	evil.removed(t)
	want(t, "after it has gone", victim.Exec(t, "tool").Out, "Linux\n")
}

// TestIntegrationAttackOtherProgram starts two sessions, of which one proxies a program that the
// other can write. Whichever starts second is refused.
//
// Attack 235.
func TestIntegrationAttackOtherProgram(t *testing.T) {
	h, _ := hostWithCanary(t)
	shared := h.Home + "/shared"
	h.mkdir(t, shared+"/bin")
	tool := h.Write(t, shared+"/bin", "tool", "#!/bin/sh\necho mine\n", 0o755)
	script := h.Write(t, h.Home, "script", "#!"+shared+"/bin/interpreter\n", 0o755)
	h.Write(t, shared+"/bin", "interpreter", "#!/bin/sh\necho mine\n", 0o755)
	busybox := image(t, "busybox")
	for name, proxied := range map[string]string{"the program": tool, "its interpreter": script} {
		owner := h.Detached(t, "--proxy", "tool="+proxied, busybox, "sleep", "600")
		r := h.Run(t, "--rm", "-v", shared+":/s", "--proxy", "true", busybox, "true")
		if r.Code != 125 || !strings.Contains(r.Err, ", which --proxy tool of container "+owner.name(t)+" runs") {
			t.Errorf("%s, whose writer comes second: %+v", name, r)
		}
		r = h.Run(t, "--rm", "-v", shared+":/s:ro", "-w", "/s", "--proxy", "true", busybox, "true")
		if r.Code != 0 {
			t.Errorf("%s, mounted read-only: %+v", name, r)
		}
		owner.removed(t)

		p := h.Proxy(t, "tool="+proxied)
		r = h.Run(t, "--rm", "-v", shared+":/s", "--proxy", "true", busybox, "true")
		if r.Code != 125 || !strings.Contains(r.Err, ", which --proxy tool of session ") {
			t.Errorf("%s of a proxied directory, whose writer comes second: %+v", name, r)
		}
		p.Stop(t, syscall.SIGTERM)

		writer := h.Detached(t, "-v", shared+":/s", "--proxy", "true", busybox, "sleep", "600")
		r = h.Run(t, "--rm", "--proxy", "tool="+proxied, busybox, "true")
		if r.Code != 125 || !strings.Contains(r.Err, "container "+writer.name(t)+" of session "+writer.Session+" could change "+shared+"/bin/") {
			t.Errorf("%s, whose writer was first: %+v", name, r)
		}
		writer.removed(t)
	}
}

// removed removes the container, and returns when its session has gone.
func (c *Container) removed(t *testing.T) {
	t.Helper()
	c.Host.Must(t, "rm", "-f", c.ID)
	eventually(t, patience, "its session goes", func() bool {
		return !slices.Contains(c.Host.Sessions(t), filepath.Join(c.Host.State, "sessions", c.Session))
	})
}
