// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// TestIntegrationPageGrants approves on terms, by the keyboard and by mouse: the same call
// runs unasked then, until it is revoked on the page. Opening the menu chooses nothing.
func TestIntegrationPageGrants(t *testing.T) {
	h := dockerUsers(t)[0]
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	tab := h.ui(t).page(t, newBrowser(t))
	want(t, "grants are shown before there is one", eval[bool](tab, "document.querySelector('#s-grants').hidden"), true)
	for _, tt := range []struct {
		word, holds string
		choose      func(tab *Tab, id string)
	}{
		{"keys", "left", func(tab *Tab, id string) { tab.keys("jj\r") }},
		{"mouse", "for this session", func(tab *Tab, id string) { tab.click(card(id) + " .grant[data-always]") }},
	} {
		t.Run(tt.word, func(t *testing.T) {
			tab := &Tab{t, tab.ctx}
			args := []string{"hsh", "-c", "echo granted", "hsh", tt.word}
			call, id := tab.asked(t, c, args...)
			tab.keys("j") // it goes there: what was clicked last is elsewhere on the page
			tab.waitApprovable(id)
			tab.keys("A\r")
			tab.until("the menu is open, and nothing chosen", "document.activeElement.matches('"+card(id)+".live .menu')")
			tab.keys("A")
			tab.until("the same key closes it", "document.querySelector('"+card(id)+" .terms').open === false")
			tab.keys("A")
			tab.until("it is open again", "document.activeElement.matches('"+card(id)+".live .menu')")
			tt.choose(tab, id)
			tab.until("it is answered", "document.querySelector('"+card(id)+".live') === null")
			want(t, "stdout", call.Ended(t).Out, "granted\n")
			tab.until("it says for how long", "document.querySelector('"+card(id)+".settled').innerText.match(/^Approved (for 15 minutes|for this session)/)")
			tab.until("the grant is shown", "document.querySelector('#grants .row').innerText.includes('"+tt.word+"')")
			if row := tab.text("#grants .row"); !strings.Contains(row, "hsh -c 'echo granted' hsh "+tt.word) || !strings.Contains(row, tt.holds) {
				t.Errorf("the grant is shown as %q", row)
			}
			want(t, "stdout, unasked", c.Exec(t, args...).Out, "granted\n")
			want(t, "questions meanwhile", eval[int](tab, "document.querySelectorAll('.request.live').length"), 0)
			eval[any](tab, "document.querySelector('#grants .revoke').click()") // a list above may come or go under a mouse
			tab.until("it is revoked", "document.querySelector('#s-grants').hidden")
			want(t, "grants of the session", len(c.grants(t)), 0)
			call, id = tab.asked(t, c, args...)
			tab.keys("j")
			tab.waitApprovable(id)
			tab.click(card(id) + " .deny")
			want(t, "code once it is asked again", call.Ended(t).Code, 126)
		})
	}
}
