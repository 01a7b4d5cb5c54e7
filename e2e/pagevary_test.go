// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// chosen returns an expression for the value of the choice whose text contains word.
func chosen(id, word string) string {
	return "document.querySelector('" + card(id) + " .vary').selectedOptions[0].text.includes('" + word + "')"
}

// openMenu goes to a card and opens its menu, with the focus on the argument that may vary.
func (tab *Tab) openMenu(id string) {
	tab.t.Helper()
	tab.keys("j")
	eval[any](tab, "document.querySelector('"+card(id)+" .end').scrollIntoView()") // as a person scrolls in a small window
	tab.waitApprovable(id)
	tab.keys("A")
	tab.until("the menu is open", "document.activeElement.matches('"+card(id)+".live .menu')")
	tab.keys("\t")
	tab.until("the argument is chosen there", "document.activeElement.matches('"+card(id)+" .vary')")
}

// TestIntegrationPageVary lets an argument vary on the page, by the keyboard, in a wide and a narrow window. The rule
// is shown before it is granted, and then in the list of grants. A key that chooses decides nothing.
func TestIntegrationPageVary(t *testing.T) {
	h := newHost(t, false)
	c := ruled(t, h, varyRules)
	for _, name := range []string{"first", "second", "third", "fourth"} {
		h.Write(t, h.Work, name, name+"\n", 0o644)
	}
	tab := h.ui(t).page(t, newBrowser(t))

	call, id := tab.asked(t, c, "hostexec", "cat", "first")
	tab.openMenu(id)
	tab.keys("a") // chooses by its first letter, and approves nothing
	tab.until("a path varies", chosen(id, "any path below /w"))
	want(t, "cards that wait", eval[int](tab, "document.querySelectorAll('.request.live').length"), 1)
	tab.until("the rule is shown", "document.querySelector('"+card(id)+" .rule').innerText.includes('Runs without asking: cat <path below /w>')")
	tab.keys("\t\r") // the first entry that grants: once is gone
	tab.until("it says what it grants", "document.querySelector('"+card(id)+".settled').innerText.startsWith('Approved for 15 minutes: cat <path below /w>')")
	want(t, "stdout", call.Ended(t).Out, "first\n")
	c.unasked(t, "second\n", "hostexec", "cat", "second")
	tab.until("the grant is shown", "document.querySelector('#grants .row')?.innerText.includes('cat <path below /w>')")
	eval[any](tab, "document.querySelector('#grants .revoke').click()")
	tab.until("it is revoked", "document.querySelector('#s-grants').hidden")

	tab.do(chromedp.EmulateViewport(360, 640))
	call, id = tab.asked(t, c, "hostexec", "cat", "third")
	tab.openMenu(id)
	for _, part := range []string{".vary", ".menu", ".grant[data-always]"} {
		box := "document.querySelector('" + card(id) + " " + part + "').getBoundingClientRect()"
		if !eval[bool](tab, box+".left >= 0 && "+box+".right <= innerWidth && "+box+".width > 100") {
			t.Errorf("%s does not fit into the window: %s", part, eval[string](tab, "JSON.stringify("+box+")"))
		}
	}
	tab.keys("aa") // the second that begins so
	tab.until("words vary", chosen(id, "one of these words"))
	tab.keys("\tthird,fourth")
	tab.until("the rule is shown", "document.querySelector('"+card(id)+" .rule').innerText.includes('cat <third|fourth>')")
	tab.click(card(id) + " .grant[data-always]")
	tab.until("it says what it grants", "document.querySelector('"+card(id)+".settled').innerText.startsWith('Approved for this session: cat <third|fourth>')")
	want(t, "stdout", call.Ended(t).Out, "third\n")
	c.unasked(t, "fourth\n", "hostexec", "cat", "fourth")

	call, id = tab.asked(t, c, "hostexec", "cat", "-u", "first")
	tab.openMenu(id)
	tab.keys("aa")
	tab.until("words vary", chosen(id, "one of these words"))
	tab.keys("\tother,words")
	tab.click(card(id) + " .grant[data-always]")
	tab.until("it says why not", "document.querySelector('#trouble').innerText.includes('not among the words')")
	tab.waitApprovable(id)
	tab.click(card(id) + " .deny")
	if r := call.Ended(t); r.Code != 126 || strings.Contains(r.Out, "first") {
		t.Errorf("what was denied: %v", r)
	}
}
