// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestIntegrationUnchanged approves a script while it is unchanged, in the terminal and on the page, by the keyboard on a
// narrow screen. After a change the question shows the diff.
//
// Attack 264.
func TestIntegrationUnchanged(t *testing.T) {
	h := dockerUsers(t)[0]
	c := askingContainer(t, h)
	script := filepath.Join(h.Work, "run.sh")
	put := func(text string) { check(t, os.WriteFile(script, []byte(text), 0o644)) }
	put("echo one\n")
	call := c.Start(t, "hsh", "run.sh")
	id := pending(t, h, "run.sh", 1)[0].ID
	h.Must(t, "hostexec", "approve", "--while-unchanged", id)
	want(t, "stdout", call.Ended(t).Out, "one\n")
	want(t, "stdout, unasked", c.Exec(t, "hsh", "run.sh").Out, "one\n")
	if list := h.Must(t, "hostexec", "policy", "ls", "--no-trunc"); !strings.Contains(list, "while unchanged: run.sh") {
		t.Errorf("policy ls: %s", list)
	}

	tab := h.ui(t).page(t, newBrowser(t))
	tab.do(chromedp.EmulateViewport(360, 740)) // a phone's
	put("echo two\n")
	call, id = tab.asked(t, c, "hsh", "run.sh")
	diff := tab.text(card(id) + " .diff")
	if !strings.Contains(diff, "-echo one") || !strings.Contains(diff, "+echo two") {
		t.Errorf("the page shows the diff %q", diff)
	}
	want(t, "wider than the screen", eval[bool](tab, "document.documentElement.scrollWidth > innerWidth"), false)
	tab.keys("j")
	eval[any](tab, "document.querySelector('"+card(id)+" .end').scrollIntoView()") // it can be approved once its end was seen
	tab.waitApprovable(id)
	tab.keys("A")
	tab.until("the menu is open", "document.activeElement.matches('"+card(id)+".live .menu')")
	tab.keys("\t ")
	tab.until("the condition is chosen", "document.activeElement.matches('"+card(id)+" .unchanged:checked')")
	tab.keys("\t")
	tab.until("it is not for once", "document.activeElement.matches('"+card(id)+" .grant[data-for]')")
	tab.keys("\r")
	tab.until("it is answered", "document.querySelector('"+card(id)+".live') === null")
	want(t, "stdout after the change", call.Ended(t).Out, "two\n")
	tab.until("it says on which condition", "document.querySelector('"+card(id)+".settled').innerText.startsWith('Approved for 15 minutes while its files are unchanged')")
	tab.until("the grant ends", "document.querySelector('#grants .row').innerText.includes('left, while unchanged')")
	tab.until("the grant names the file", "document.querySelector('#grants .row').innerText.includes('run.sh (not bound')")
	want(t, "grants: the new one replaces the old", len(c.grants(t)), 1)

	call = c.Start(t, "hsh", "-c", "echo three")
	id = pending(t, h, "three", 1)[0].ID
	if r := h.Docker(t, "hostexec", "approve", "--while-unchanged", id); r.Code != 1 || !strings.Contains(r.Err, "the option -c") {
		t.Errorf("without a script: %v, want the reason", r)
	}
	h.Must(t, "hostexec", "deny", id)
	want(t, "code", call.Ended(t).Code, 126)
}
