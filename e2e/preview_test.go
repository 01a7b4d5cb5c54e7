// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const previewRules = `version: 1
commands:
  make: {rules: [{id: any, do: ask, preview: [-n], argv: [{args: '[a-z]+', max: 2}]}]}
  rsync: {rules: [{id: any, do: ask, preview: [-n, -i], argv: [-r, {re: '[a-z]+/?'}, {re: '[a-z]+/?'}]}]}
`

// preview returns the preview of the only question about word.
func preview(t *testing.T, h *Host, word string) (id, text string) {
	t.Helper()
	id = pending(t, h, word, 1)[0].ID
	for line := range strings.Lines(h.Must(t, "hostexec", "pending", "--no-trunc", "--format", "{{json .Preview}} {{.ID}}")) {
		if strings.Contains(line, id) {
			text = line
		}
	}
	return id, text
}

// TestIntegrationPreview shows what make and rsync would do with the question: in a list, in a terminal and on the page,
// whose window is narrow. The command runs only after the answer.
func TestIntegrationPreview(t *testing.T) {
	h := newHost(t, false)
	if !sandboxed(t, h) {
		return
	}
	h.Write(t, h.Work, "Makefile", "all:\n\techo made >made\n\t@echo '\u202equiet'\n", 0o644)
	h.mkdir(t, filepath.Join(h.Work, "src"))
	h.Write(t, filepath.Join(h.Work, "src"), "one", "1\n", 0o644)
	c := ruled(t, h, previewRules)
	m := approver(t, h)
	waitUntilAsked(t, c, "hostexec", "make", "nothing")

	call := c.Start(t, "hostexec", "make", "all")
	m.Expect(t, "  argv[1]  all\r\n")
	m.Expect(t, "Preview with -n, as the program reports it\r\n  | echo made >made\r\n  | \"echo '\\u202equiet'\"\r\n")
	m.Expect(t, "n or Enter refuses it")
	if _, err := os.Stat(filepath.Join(h.Work, "made")); err == nil {
		t.Error("the command ran before the answer")
	}
	m.Type(t, "y")
	want(t, "code", call.Ended(t).Code, 0)
	want(t, "made", string(readFile(t, filepath.Join(h.Work, "made"))), "made\n")

	call = c.Start(t, "hostexec", "rsync", "-r", "src/", "dst")
	id, text := preview(t, h, "dst")
	if !strings.Contains(text, ">f+++++++++ one") {
		t.Errorf("rsync would do %s", text)
	}
	h.Must(t, "hostexec", "deny", id)
	want(t, "code of what was denied", call.Ended(t).Code, 126)
	if _, err := os.Stat(filepath.Join(h.Work, "dst")); err == nil {
		t.Error("rsync copied without an approval")
	}
	want(t, "REQUEST in the log", len(h.Audit(t, "HOSTEXEC REQUEST", "dst", `preview="-n -i"`)), 1)
	want(t, "START in the log", len(h.Audit(t, "HOSTEXEC START", "dst")), 0)

	tab := h.ui(t).page(t, newBrowser(t))
	tab.do(chromedp.EmulateViewport(360, 740)) // a phone's
	h.Write(t, h.Work, "Makefile", "all:\n\techo "+strings.Repeat("x", 300)+" '<b>'\nfail:\n\techo x\n\t$(error no way)\n", 0o644)
	call, id = tab.asked(t, c, "hostexec", "make", "all")
	if shown := tab.text(card(id) + " .preview"); !strings.Contains(shown, "xxx '<b>'") {
		t.Errorf("the page shows %q", shown)
	}
	want(t, "wider than the screen", eval[bool](tab, "document.documentElement.scrollWidth > innerWidth"), false)
	eval[any](tab, "document.querySelector('"+card(id)+" .end').scrollIntoView()") // it can be approved once its end was seen
	tab.waitApprovable(id)
	tab.keys("j")
	tab.keys("a")
	want(t, "code", call.Ended(t).Code, 0)
	call, id = tab.asked(t, c, "hostexec", "make", "fail")
	tab.until("it says that the preview failed", "document.querySelector('"+card(id)+"').innerText.includes('which failed: exit status 2') ||"+
		"document.querySelector('"+card(id)+"').innerText.includes('No preview: exit status 2')")
	h.Must(t, "hostexec", "deny", id)
	want(t, "code of what was denied", call.Ended(t).Code, 126)
}

// TestIntegrationAttackPreview lets the container write the Makefile of a preview. None of it is approved.
//
// Attack 270.
func TestIntegrationAttackPreview(t *testing.T) {
	h, canary := hostWithCanary(t)
	if !sandboxed(t, h) {
		return
	}
	near, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer near.Close()
	h.mkdir(t, filepath.Join(h.Work, "ro"))
	c := ruled(t, h, previewRules, "-v", h.Work+"/ro:/w/ro:ro")
	approver(t, h)
	waitUntilAsked(t, c, "hostexec", "make", "nothing")
	h.Write(t, h.Work, "Makefile", "", 0o666)
	for i, command := range []string{
		"echo x >made", "touch Makefile", "chmod 600 Makefile", "mv Makefile made", "mkdir made", "ln -s / made", "mkfifo made", "truncate -s 9 Makefile",
		"echo x >" + canary, "cat " + canary, "chmod 777 " + canary, "ln " + canary + " made", "echo x >$$HOME/made", "echo x >$$TMPDIR/made", "echo x >/tmp/made$$$$",
		"bash -c ': >/dev/tcp/" + strings.Replace(near.Addr().String(), ":", "/", 1) + "'", "bash -c 'echo >/dev/udp/127.0.0.1/53'",
		"docker -H unix:///var/run/docker.sock version", "unshare -r true", "kill -0 1",
	} {
		target := "try" + string(rune('a'+i)) // what was denied is not asked again at once
		h.Write(t, h.Work, "Makefile", "$(info $(shell "+command+"; echo status $$?))\n"+target+":\n\t+"+command+"\n", 0o666)
		before := readFile(t, filepath.Join(h.Work, "Makefile"))
		call := c.Start(t, "hostexec", "make", target)
		id, text := preview(t, h, target)
		if !strings.Contains(text, "status ") || strings.Contains(text, "status 0") || !strings.Contains(text, "which failed: exit status 2") {
			t.Errorf("%s: %s", command, text)
		}
		want(t, command+": the Makefile", string(readFile(t, filepath.Join(h.Work, "Makefile"))), string(before))
		if _, err := os.Lstat(filepath.Join(h.Work, "made")); err == nil {
			t.Errorf("%s wrote into the workspace", command)
		}
		h.Must(t, "hostexec", "deny", id)
		want(t, "code", call.Ended(t).Code, 126)
	}
	want(t, "START in the log", len(h.Audit(t, "HOSTEXEC START")), 0)
}
