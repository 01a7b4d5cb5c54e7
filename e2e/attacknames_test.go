// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestIntegrationAttackNames gives containers and images misleading names, labels and host names.
// The engine refuses special characters, labels are never shown, and a container with the host's
// name is shown as a container.
//
// Attack 98.
func TestIntegrationAttackNames(t *testing.T) {
	h, _ := hostWithCanary(t)
	const evil = "\x1b[2K\x1b]52;c;eA==\a\u202e\u200b\u009b2J' [y] approve"
	h.Write(t, h.State, "config.yaml", "version: 1\napproval: {wait: always}\n", 0o600)
	for _, name := range []string{evil, "a\x1b[2J", "a b", "a\nb", "\u202ea", "a\u200b", "-rm", "--all"} {
		if r := h.Docker(t, "hostexec", "run", "--rm", "--label", runLabel, "--name="+name, image(t, "busybox"), "true"); r.Code == 0 {
			t.Errorf("the container's name %q is taken", name)
		}
		if r := h.feed(t, "", "docker", "tag", image(t, "busybox"), "hostexec-e2e/"+name); r.Code == 0 {
			t.Errorf("the image's name %q is taken", name)
		}
	}
	labelled := unique("labelled" + filepath.Base(h.Home))
	load(t, labelled, newRootfs(t).pack(t), []string{"LABEL com.docker.compose.project=\"" + evil + "\" org.opencontainers.image.title=\"" + evil + "\" io.hostexec.session=\"" + evil + "\"", `ENTRYPOINT ["/probe", "hold"]`})
	t.Cleanup(func() { h.Docker(t, "rmi", "-f", labelled) })
	name := "localhost-" + unique(filepath.Base(h.Home))
	c := h.Detached(t, "--name", name, "--hostname", "host", "--label", "com.docker.compose.service="+evil, "--label", "description="+evil, "-v", h.Work+":/w", "-w", "/w", "--proxy", "hsh=ask,path=/bin/sh", labelled)
	ask := h.Command(t.Context(), "docker", "exec", c.ID, "/run/hostexec/bin/hsh", "-c", "echo named")
	check(t, ask.Start())
	q := pending(t, h, "named", 1)[0]
	for _, args := range []string{"pending", "pending --no-trunc", "pending --format json", "status", "status --no-trunc", "status --format json", "inspect " + c.Session, "logs " + c.Session, "audit", "audit --format json", "ps"} {
		shown := h.Docker(t, append([]string{"hostexec"}, strings.Fields(args)...)...).Out
		wantPlain(t, args, "x"+shown)
		if strings.Contains(shown, "approve") {
			t.Errorf("%s shows a label: %s", args, clip(shown))
		}
	}
	if shown := h.Must(t, "hostexec", "pending", "--no-trunc"); !strings.Contains(shown, name) || !strings.Contains(h.Must(t, "hostexec", "inspect", c.Session), name) {
		t.Errorf("the container is not named: %s", shown)
	}
	m := h.term(t, "docker", "hostexec", "pending", "--watch")
	shown := m.Expect(t, "q leaves: ")
	wantPlain(t, "pending --watch", strings.ReplaceAll(shown, "\r\n", "\n"))
	if !strings.Contains(strings.ReplaceAll(shown, "\r\n  > ", ""), " of container "+name) {
		t.Errorf("pending --watch does not say whose request it is: %q", shown)
	}
	h.Must(t, "hostexec", "deny", q.ID)
	ask.Wait()
	for _, line := range h.Audit(t) {
		wantPlain(t, "the audit log", line)
	}
	want(t, "STARTs", len(h.Audit(t, "HOSTEXEC START")), 0)
}

// TestIntegrationAttackReusedName gives a container the name of another one that had a session with
// grants. It gets neither, and its later session has no grants.
//
// Attack 150.
func TestIntegrationAttackReusedName(t *testing.T) {
	h, _ := hostWithCanary(t)
	h.Write(t, h.State, "config.yaml", "version: 1\napproval: {wait: always}\n", 0o600)
	name := unique("again" + filepath.Base(h.Home))
	c := h.Holding(t, "--name", name, "--proxy", "hsh=ask,path=/bin/sh")
	call := c.Start(t, "hsh", "-c", "echo granted")
	h.Must(t, "hostexec", "approve", "--always", pending(t, h, "granted", 1)[0].ID)
	want(t, "stdout", call.Ended(t).Out, "granted\n")
	want(t, "granted", c.Exec(t, "hsh", "-c", "echo granted").Out, "granted\n")
	h.Must(t, "rm", "-f", c.ID)
	h.Must(t, "run", "-d", "--rm", "--label", runLabel, "--name", name, "-v", h.Work+":/w", "-w", "/w", image(t, "full"), "/probe", "hold")
	if r := h.Docker(t, "exec", name, "bash", "-c", "ls /run/hostexec; hsh -c 'echo granted'"); r.Out != "" || r.Code != 127 {
		t.Errorf("another container of that name: %v", r)
	}
	h.Must(t, "rm", "-f", name)
	again := h.Holding(t, "--name", name, "--proxy", "hsh=ask,path=/bin/sh")
	want(t, "the same session", again.Session == c.Session, false)
	call = again.Start(t, "hsh", "-c", "echo granted")
	h.Must(t, "hostexec", "deny", pending(t, h, "granted", 1)[0].ID)
	want(t, "code of what was granted to the other", call.Ended(t).Code, 126)
}
