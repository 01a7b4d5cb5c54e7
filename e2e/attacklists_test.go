// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// Attacks on what a person can see of what runs.

// crowd starts calls with 15 arguments of 120 kB each, and says of each that it runs or that it
// was refused.
const crowd = `a=$(head -c 120000 /dev/zero | tr '\0' '<')
for i in {1..40}; do
  { hsh -c 'echo runs; exec sleep 1000' hsh $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a || echo refused; } 2>/dev/null &
done
wait`

// TestIntegrationAttackLongCalls makes calls whose arguments together exceed the former limit of a
// reply. Each call is listed, shown and can be ended.
//
// Attack 213.
func TestIntegrationAttackLongCalls(t *testing.T) {
	h, _ := hostWithCanary(t)
	c := h.Holding(t, "--proxy", "hsh=/bin/sh")
	all := c.Start(t, "bash", "-c", crowd)
	n := 0
	for range 40 {
		if all.Line(t) == "runs" {
			n++
		}
	}
	if n == 0 {
		t.Fatal("no call runs")
	}
	t.Logf("%d calls run", n)
	ids := strings.Fields(h.Must(t, "hostexec", "ps", "-q"))
	want(t, "calls that ps lists", len(ids), n)
	want(t, "lines of ps", strings.Count(h.Must(t, "hostexec", "ps"), "\n"), n+1)
	want(t, "status", h.Must(t, "hostexec", "status", "--format", "{{.State}} {{.Running}}"), "running "+itoa(n)+"\n")
	want(t, "inspect", h.Must(t, "hostexec", "inspect", "--format", "{{.State}} {{len .Watcher.Running}}", c.Session), "running "+itoa(n)+"\n")
	if one := h.Must(t, "hostexec", "ps", "--no-trunc", "--filter", "id="+ids[0], "--format", "{{.Command}}"); len(one) < 15*120_000 || !strings.HasPrefix(one, "hsh -c ") {
		t.Errorf("ps --no-trunc shows %d bytes: %s", len(one), clip(one))
	}
	if inside := c.Exec(t, "hostexec", "ps").Out; strings.Count(inside, "\n") != n+1 || len(inside) > n*1200 {
		t.Errorf("hostexec ps in the container shows %d bytes: %s", len(inside), clip(inside))
	}
	tab := h.ui(t).page(t, newBrowser(t))
	tab.until("the page shows them", "document.querySelectorAll('#running .row').length === "+itoa(n))
	want(t, "kill", h.Must(t, "hostexec", "kill", ids[0]), ids[0]+"\n")
	tab.until("the page shows the others", "document.querySelectorAll('#running .row').length === "+itoa(n-1))
	eventually(t, patience, "clicks end others", func() bool { // who is too slow begins again
		eval[any](tab, "document.querySelector('#running .kill:enabled')?.click()")
		return eval[int](tab, "document.querySelectorAll('#running .row').length") <= n-2
	})
	tab.until("the history shows their ends", "[...document.querySelectorAll('#audit .row')].filter(r => r.innerText.includes('TERM')).length >= 2")
	h.Must(t, "hostexec", "logs", c.Session)
	want(t, "code of prune", h.Docker(t, "hostexec", "prune", "--force").Code, 0)
	want(t, "stop", h.Must(t, "hostexec", "stop", c.Session), c.Session+"\n")
	all.Ended(t)
}

// TestIntegrationAttackLongQuestion asks about a command that is longer than a list shows. The
// terminal and API clients see all of it, and the answer applies to all of it.
//
// Attack 94.
func TestIntegrationAttackLongQuestion(t *testing.T) {
	h, _ := hostWithCanary(t)
	h.Write(t, h.State, "config.yaml", "version: 1\napproval: {wait: always}\n", 0o600)
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	long := strings.Repeat("all is well ", 4000) + "; rm -rf /"
	m := h.term(t, "docker", "hostexec", "pending", "--watch")
	m.Expect(t, "q leaves.\r\n")
	watched := c.Start(t, "hsh", "-c", "exit 3", "hsh", long)
	shown := m.Expect(t, "q leaves: ")
	if !strings.Contains(strings.ReplaceAll(shown, "\r\n  > ", ""), "argv[4]  "+long+"\r\n") {
		t.Errorf("pending --watch shows %s", clip(shown))
	}
	id := strings.TrimSpace(h.Must(t, "hostexec", "pending", "-q"))
	if table := h.Must(t, "hostexec", "pending"); len(table) > 1000 || !strings.Contains(table, id) {
		t.Errorf("pending shows %s", clip(table))
	}
	for _, flag := range []string{"--no-trunc", "--format={{.Command}}", "--format=json"} {
		if text := h.Must(t, "hostexec", "pending", flag); !strings.Contains(text, long) {
			t.Errorf("pending %s shows %s", flag, clip(text))
		}
	}
	m.Type(t, "y")
	want(t, "code", watched.Ended(t).Code, 3)
	m.Type(t, "q")
	want(t, "code of pending", m.Wait(t), 0)
	for verb, code := range map[string]int{"approve": 3, "deny": 126} {
		call := c.Start(t, "hsh", "-c", "exit 3", "hsh", long+verb)
		eventually(t, patience, "it waits", func() bool { return h.Must(t, "hostexec", "pending", "-q") != "" })
		h.Must(t, "hostexec", verb, strings.TrimSpace(h.Must(t, "hostexec", "pending", "-q")))
		want(t, "code after "+verb, call.Ended(t).Code, code)
	}
}
