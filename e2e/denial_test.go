// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestIntegrationDenials denies a call for this session. The same call is refused at once, also by a watcher that was
// started again, and after the container was renamed. The denial is listed and logged.
func TestIntegrationDenials(t *testing.T) {
	h := dockerUsers(t)[0]
	c := askingContainer(t, h)
	call := c.Start(t, "hsh", "-c", "echo never")
	id := pending(t, h, "never", 1)[0].ID
	h.Must(t, "hostexec", "deny", "--always", "-m", "not today", id)
	const told = "Command denied: not today; the same is denied for this session (request "
	if r := call.Ended(t); r.Code != 126 || !strings.Contains(r.Err, told) {
		t.Errorf("the denied call: %v, want %q", r, told)
	}
	refused := func(what string) {
		t.Helper()
		if r := c.Exec(t, "hsh", "-c", "echo never"); r.Code != 126 || r.Out != "" || !strings.Contains(r.Err, told) {
			t.Errorf("%s: %v", what, r)
		}
	}
	refused("the same call")
	h.Must(t, "hostexec", "stop", c.Session)
	h.Must(t, "hostexec", "resume", c.Session)
	refused("the same call after a new watcher has started")
	h.Must(t, "rename", c.ID, unique(h.Name+"-denied"))
	eventually(t, patience, "status has the new name", func() bool { return h.status(t, c, "{{.Container}}") == unique(h.Name+"-denied") })
	refused("the same call after the container was renamed")
	list := strings.TrimSpace(h.Must(t, "hostexec", "policy", "ls", "--format", `{{.Rule}} {{.Action}} {{.Matches}}`))
	rule, rest, _ := strings.Cut(lineWith(list, "denial/"), " ")
	if !strings.HasPrefix(rest, "deny hsh -c 'echo never' in ") {
		t.Fatalf("policy ls: %s", list)
	}
	if log := h.Must(t, "hostexec", "audit", "--filter", "event=DENY", "--format", "{{.User}}"); strings.Count(log, "denial "+strings.TrimPrefix(rule, "denial/")) != 3 {
		t.Errorf("the log has the users\n%s", log)
	}
}

// TestIntegrationPageDenials denies for this session by the keyboard, on a narrow screen, and revokes the denial
// on the page.
func TestIntegrationPageDenials(t *testing.T) {
	h := dockerUsers(t)[0]
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	tab := h.ui(t).page(t, newBrowser(t))
	tab.do(chromedp.EmulateViewport(360, 740)) // a phone's
	args := []string{"hsh", "-c", "echo never"}
	call, id := tab.asked(t, c, args...)
	tab.keys("j")
	tab.until("it can be denied", "document.querySelector('"+card(id)+" .never:enabled') !== null")
	want(t, "the page is wider than the screen", eval[bool](tab, "document.documentElement.scrollWidth > innerWidth"), false)
	tab.keys("D")
	tab.until("it is denied", "document.querySelector('"+card(id)+".settled').innerText.match(/^Denied for this session/)")
	want(t, "code", call.Ended(t).Code, 126)
	tab.until("the denial is shown", "document.querySelector('#denials .row').innerText.includes('echo never')")
	want(t, "code, unasked", c.Exec(t, args...).Code, 126)
	want(t, "questions meanwhile", eval[int](tab, "document.querySelectorAll('.request.live').length"), 0)
	eval[any](tab, "document.querySelector('#denials .revoke').focus()")
	tab.keys("\r")
	tab.until("it is revoked", "document.querySelector('#s-denials').hidden")
	call, id = tab.asked(t, c, args...)
	tab.keys("j")
	eval[any](tab, "document.querySelector('"+card(id)+" .end').scrollIntoView()") // as a person scrolls in a small window
	tab.waitApprovable(id)
	tab.keys("a")
	want(t, "stdout once it is asked again", call.Ended(t).Out, "never\n")
}
