// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Attacks on the person: on what is shown, on the keys, and on which request an answer is to.

// waitingText is a configuration in which sh is asked about, whoever is there.
const waitingText = "version: 1\napproval: {wait: always, durable: true}\ncommands:\n  sh:\n    exec: /bin/sh\n    rules: [{id: any, do: ask, argv: [-c, {re: 'echo [a-z]+', unicode: true}, {args: '.*', unicode: true, max: 20}]}]\n"

// wantPlain fails the test if text has anything but printable ASCII and line ends, and the
// sign by which docker says that it has left something out.
func wantPlain(t *testing.T, what, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool { return (r < ' ' || r > '~') && r != '\n' && r != '…' }); i >= 0 || text == "" {
		t.Errorf("%s is not printable ASCII at %d: %q", what, i, clip(text))
	}
}

// TestIntegrationAttackEscapes puts what terminals obey, what is invisible and what runs
// backwards into everything that a container may say, and looks at all that shows it.
func TestIntegrationAttackEscapes(t *testing.T) {
	h, _ := victim(t)
	const evil = "\x1b[2K\x1b[1A\x1b]52;c;eA==\a\u009b2J\r\u202e\u3164\u200b\x7f"
	h.mkdir(t, filepath.Join(h.Work, ".git"))
	h.Write(t, filepath.Join(h.Work, ".git"), "HEAD", "ref: refs/heads/"+evil+"\n", 0o644)
	h.mkdir(t, filepath.Join(h.Work, evil))
	h.Write(t, h.Work, ".hostexec.yaml", "version: 1\n# "+evil+"\n"+evil+": x\n", 0o644)
	h.Write(t, h.State, "config.yaml", "version: 1\napproval: {wait: always}\n", 0o600)
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh", "--workspace="+h.Work)
	m := h.term(t, "docker", "hostexec", "pending", "--watch")
	m.Expect(t, "q leaves.\r\n")
	call := c.Start(t, "bash", "-c", `cd "/w/$1"; exec hsh -c "echo shown" "$1" $'\xff\xfe' $'a\nb' "' [y] approve"`, "bash", evil)
	q := pending(t, h, "shown", 1)[0]
	shown := m.Expect(t, "q leaves: ")
	wantPlain(t, "pending --watch", strings.ReplaceAll(shown, "\r\n", "\n"))
	for _, arg := range []string{`argv[4]  "\xff\xfe"`, `argv[5]  "a\nb"`, `argv[6]  ' [y] approve`, `\u202e\u3164\u200b\x7f`} {
		if !strings.Contains(shown, arg) {
			t.Errorf("pending --watch does not show %s: %q", arg, shown)
		}
	}
	look := func(when string) {
		t.Helper()
		for _, args := range []string{
			"pending", "pending --no-trunc", "pending --format json", "pending --format {{.Directory}}{{.Command}}", "status", "status --format json", "inspect " + c.Session,
			"audit", "audit --format json", "logs " + c.Session, "policy ls", "policy check",
		} {
			wantPlain(t, when+" "+args, "x"+h.Docker(t, append([]string{"hostexec"}, strings.Fields(args)...)...).Out)
		}
		for _, args := range [][]string{{"trust", h.Work}, {"policy", "explain", "--", "hsh", evil}, {"policy", "test"}} {
			r := h.Docker(t, append([]string{"hostexec"}, args...)...)
			wantPlain(t, when+" "+args[0], r.Out+r.Err)
		}
	}
	look("waiting:")
	h.Must(t, "hostexec", "deny", "-m", evil, q.ID)
	r := call.Ended(t)
	wantPlain(t, "what the caller is told", r.Err)
	if r := c.Exec(t, "hostexec", evil, evil); r.Code != 127 {
		t.Errorf("a command of that name: %v", r)
	} else {
		wantPlain(t, "what another caller is told", r.Err)
	}
	look("after it:")
	for _, line := range h.Audit(t) {
		wantPlain(t, "the audit log", line)
	}
}

// TestIntegrationAttackTypeAhead types yes before there is anything to say yes to.
func TestIntegrationAttackTypeAhead(t *testing.T) {
	h, _ := victim(t)
	h.Write(t, h.State, "config.yaml", waitingText, 0o600)
	c := h.Holding(t)
	m := person(t, h)
	m.Type(t, "yyyy\ra\n")
	call := c.Start(t, "hostexec", "sh", "-c", "echo ahead")
	m.Expect(t, "q leaves: ")
	q := pending(t, h, "ahead", 1)[0]
	want(t, "STARTs", len(h.Audit(t, q.ID, "HOSTEXEC START")), 0)
	m.Type(t, "z~\x1b[A ") // keys that mean nothing
	pending(t, h, "ahead", 1)
	m.Type(t, "n")
	want(t, "code", call.Ended(t).Code, 126)
	want(t, "approvals", len(h.Audit(t, "HOSTEXEC APPROVE")), 0)
}

// TestIntegrationAttackIDs approves what is nearly the id of a request.
func TestIntegrationAttackIDs(t *testing.T) {
	h, _ := victim(t)
	h.Write(t, h.State, "config.yaml", waitingText, 0o600)
	c := h.Holding(t)
	call := c.Start(t, "hostexec", "sh", "-c", "echo ids")
	id := pending(t, h, "ids", 1)[0].ID
	for _, ref := range []string{"--all", "-a", "*", ".", "", id[:1], id[:4], id[:7], id[1:], id + "0", " " + id, id + "\n", "0x" + id, "../" + id, id[:15] + "g", id + "/../" + id, "%" + id, c.Session} {
		if r := h.Docker(t, "hostexec", "approve", "--", ref); r.Code != 1 || r.Out != "" {
			t.Errorf("approve %q: %v", ref, r)
		}
	}
	if r := h.Docker(t, "hostexec", "approve", "--all"); r.Code == 0 {
		t.Errorf("approve --all: %v", r)
	}
	pending(t, h, "ids", 1)
	want(t, "STARTs", len(h.Audit(t, "HOSTEXEC START")), 0)
	h.Must(t, "hostexec", "approve", id[:8])
	want(t, "stdout", call.Ended(t).Out, "ids\n")
}

// TestIntegrationAttackComeBack has a caller leave, a person say yes, and others fetch the
// answer: another session never can, this one once, and for nothing else.
func TestIntegrationAttackComeBack(t *testing.T) {
	h, _ := victim(t)
	h.Write(t, h.State, "config.yaml", waitingText, 0o600)
	c, other := h.Holding(t), h.Holding(t)
	h.mkdir(t, filepath.Join(h.Work, "sub"))
	call := c.As("1000").Start(t, "hostexec", "sh", "-c", "echo back")
	q := pending(t, h, "back", 1)[0]
	call.Signal(t, "KILL")
	call.Ended(t)
	eventually(t, soon, "its caller has gone", func() bool { return pending(t, h, "back", 1)[0].Callers == "gone" })
	h.Must(t, "hostexec", "approve", q.ID)
	for name, r := range map[string]Result{
		"another container":   other.As("1000").Exec(t, "timeout", ".5", "hostexec", "sh", "-c", "echo back"),
		"other arguments":     c.As("1000").Exec(t, "timeout", ".5", "hostexec", "sh", "-c", "echo back", "x"),
		"another directory":   c.As("1000").Sh(t, "cd sub; timeout .5 hostexec sh -c 'echo back'"),
		"another spelling":    c.As("1000").Exec(t, "timeout", ".5", "hostexec", "sh", "-c", "echo back", ""),
		"a reordered request": c.As("1000").Exec(t, "timeout", ".5", "hostexec", "sh", "echo back", "-c"),
	} {
		if r.Out != "" {
			t.Errorf("%s fetched the answer: %v", name, r)
		}
	}
	want(t, "the same, as another user of the container", c.As("0").Exec(t, "timeout", "10", "hostexec", "sh", "-c", "echo back").Out, "back\n")
	want(t, "once more", c.As("0").Exec(t, "timeout", ".5", "hostexec", "sh", "-c", "echo back").Out, "")
	want(t, "STARTs", len(h.Audit(t, "HOSTEXEC START")), 1)
}

// TestIntegrationAttackRebound has a caller take its question back and put another one as a
// person answers: the answer is to what was shown.
func TestIntegrationAttackRebound(t *testing.T) {
	h, _ := victim(t)
	h.Write(t, h.State, "config.yaml", strings.Replace(waitingText, "durable: true", "durable: false", 1), 0o600)
	c := h.Holding(t)
	marker := filepath.Join(h.Work, "marker")
	shown := c.Start(t, "hostexec", "sh", "-c", "echo good")
	q := pending(t, h, "good", 1)[0]
	shown.Signal(t, "KILL")
	shown.Ended(t)
	pending(t, h, "good", 0)
	evil := c.Start(t, "hostexec", "sh", "-c", "echo evil", marker)
	pending(t, h, "evil", 1)
	if r := h.Docker(t, "hostexec", "approve", q.ID); r.Code != 1 {
		t.Errorf("what has gone is approved: %v", r)
	}
	pending(t, h, "evil", 1)
	want(t, "STARTs", len(h.Audit(t, "HOSTEXEC START")), 0)
	evil.Signal(t, "TERM")
	evil.Ended(t)
	if _, err := os.Stat(marker); err == nil {
		t.Error("it ran")
	}
}
