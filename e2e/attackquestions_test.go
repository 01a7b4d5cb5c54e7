// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Attacks on the person: on what is shown, on the keys, and on which request an answer is to.

// waitingText is a configuration in which sh is asked about, whoever is there.
const waitingText = "version: 1\napproval: {wait: always, durable: true}\ncommands:\n  sh:\n    exec: /bin/sh\n    rules: [{id: any, do: ask, argv: [-c, {re: 'echo [a-z]+', unicode: true}, {args: '.*', unicode: true, max: 20}]}]\n"

// wantPlain fails the test if text has anything but printable ASCII and line ends.
func wantPlain(t *testing.T, what, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool { return (r < ' ' || r > '~') && r != '\n' }); i >= 0 || text == "" {
		t.Errorf("%s is not printable ASCII at %d: %q", what, i, clip(text))
	}
}

// TestIntegrationAttackEscapes puts terminal control sequences, invisible characters and
// bidirectional text into every value that a container controls, and checks all outputs that show
// it.
//
// Attacks 92, 93, 95, 130.
func TestIntegrationAttackEscapes(t *testing.T) {
	h, _ := hostWithCanary(t)
	const evil = "\x1b[2K\x1b[1A\x1b]52;c;eA==\a\u009b2J\r\u202e\u3164\u200b\x7f"
	h.mkdir(t, filepath.Join(h.Work, ".git"))
	h.Write(t, filepath.Join(h.Work, ".git"), "HEAD", "ref: refs/heads/"+evil+"\n", 0o644)
	h.mkdir(t, filepath.Join(h.Work, evil))
	h.Write(t, h.Work, ".hostexec.yaml", "version: 1\n# "+evil+"\n"+evil+": x\n", 0o644)
	h.Write(t, h.State, "config.yaml", "version: 1\napproval: {wait: always}\n", 0o600)
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh", "--workspace="+h.Work)
	m := h.term(t, "docker", "hostexec", "pending", "--watch")
	m.Expect(t, "q leaves.\r\n")
	call := c.Start(t, "bash", "-c", `cd "/w/$1"; exec hsh -c "echo shown" "$1" $'\xff\xfe' $'a\nb' "' [y] approve" "$2"`, "bash", evil, "main"+strings.Repeat(" ", 65)+"  argv[4]  --dry-run")
	q := pending(t, h, "shown", 1)[0]
	shown := m.Expect(t, "q leaves: ")
	wantPlain(t, "pending --watch", strings.ReplaceAll(shown, "\r\n", "\n"))
	if n := strings.Count(shown, "\n  argv[4]  "); n != 1 {
		t.Errorf("pending --watch shows argument 4 in %d rows: %q", n, shown)
	}
	shown = strings.ReplaceAll(shown, "\r\n  > ", "")
	for _, arg := range []string{`argv[7]  "main\x20\x20`, `argv[4]  "\xff\xfe"`, `argv[5]  "a\nb"`, `argv[6]  ' [y] approve`, `\u202e\u3164\u200b\x7f`} {
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

// TestIntegrationAttackShown puts terminal control sequences into arguments and directories of
// calls, jobs and shells. All verbs that show them print escaped text; JSON, templates and tables
// are printable ASCII.
//
// Attacks 92, 93.
func TestIntegrationAttackShown(t *testing.T) {
	h, _ := hostWithCanary(t)
	const evil = "\x7f\u0085\u009b2J\u202e\u2066\u200b\u3164\ufeff\U000e0041"
	h.mkdir(t, filepath.Join(h.Work, evil))
	h.Write(t, h.State, "config.yaml", "version: 1\napproval: {wait: always}\n", 0o600)
	c := h.Holding(t, "--proxy", "hsh=/bin/sh", "--proxy", "hask=ask,path=/bin/sh", "--proxy-shell")
	call := c.Start(t, "bash", "-c", `cd "/w/$1"; exec hsh -c 'echo $$; exec sleep 1000' "$1" $'\e[2J\nfake'`, "bash", evil)
	call.Host(t)
	asked := c.Start(t, "bash", "-c", `cd "/w/$1"; exec hask -c 'echo shown' "$1"`, "bash", evil)
	pending(t, h, "shown", 1)
	r := c.Sh(t, `cd "/w/$1" && hostexec -d hsh -c 'sleep 1000' "$1" && hostexec session create one && hostexec session exec one -- 'echo x'`, evil)
	want(t, "a job and a shell: "+r.Err, r.Code, 0)
	for _, args := range []string{
		"inspect " + c.Session, "inspect --format json " + c.Session, "inspect --format {{.Watcher.Running}}{{.Watcher.Shells}}{{.Image}}{{.ContainerName}} " + c.Session,
		"status", "status --format json", "status --format {{.Container}}{{.Image}}{{.CarrierWhy}}{{.Shells}}",
		"ps -a", "ps -a --no-trunc", "ps -a --format json", "ps -a --format {{.Command}}{{.Directory}}{{.Reason}}", "pending", "pending --format json", "pending --format {{.Command}}{{.Directory}}",
		"shell ls", "shell ls --format json", "shell ls --format {{.Directory}}{{.In}}{{.Name}}", "audit", "audit --format json", "audit --format {{.Command}}{{.Dir}}", "audit --raw",
		"logs " + c.Session, "policy ls --format json", "policy explain --format json -- hsh", "doctor --format json", "stop --help",
	} {
		r := h.Docker(t, append([]string{"hostexec"}, strings.Fields(args)...)...)
		wantPlain(t, args, strings.ReplaceAll("x"+r.Out+r.Err, "\t", " "))
	}
	for _, args := range [][]string{{"ps"}, {"ps", "--json"}, {"session", "ls"}, {"session", "ls", "--json"}, {"ls", "--json"}} {
		wantPlain(t, "in the container: "+args[0], "x"+c.Exec(t, append([]string{"hostexec"}, args...)...).Out)
	}
	var all []struct {
		Watcher struct{ Running []struct{ Args []string } }
	}
	check(t, json.Unmarshal([]byte(h.Must(t, "hostexec", "inspect", c.Session)), &all))
	if !slices.ContainsFunc(all[0].Watcher.Running, func(r struct{ Args []string }) bool { return slices.Contains(r.Args, evil) }) {
		t.Errorf("inspect does not say the bytes: %q", all)
	}
	h.Must(t, "hostexec", "deny", pending(t, h, "shown", 1)[0].ID)
	asked.Ended(t)
}

// TestIntegrationAttackTypeAhead types yes before there is a question.
//
// Attack 96.
func TestIntegrationAttackTypeAhead(t *testing.T) {
	h, _ := hostWithCanary(t)
	h.Write(t, h.State, "config.yaml", waitingText, 0o600)
	c := h.Holding(t)
	m := approver(t, h)
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

// TestIntegrationAttackIDs approves IDs that nearly match the ID of a request.
//
// Attack 100.
func TestIntegrationAttackIDs(t *testing.T) {
	h, _ := hostWithCanary(t)
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

// TestIntegrationAttackDurable checks an approval that is stored after its caller has left: the
// same session fetches it once, for the same call only. Another session never does.
//
// Attacks 147, 199.
func TestIntegrationAttackDurable(t *testing.T) {
	h, _ := hostWithCanary(t)
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

// TestIntegrationAttackChangedMeanwhile exchanges the question while a person answers. The answer
// applies to the question that was shown.
//
// Attacks 148, 199.
func TestIntegrationAttackChangedMeanwhile(t *testing.T) {
	h, _ := hostWithCanary(t)
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
