// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// grouped waits until one card has n requests.
func (tab *Tab) grouped(id string, n int) {
	tab.t.Helper()
	tab.until("the card has them", "document.querySelectorAll('.request.live').length === 1 && document.querySelectorAll('"+card(id)+".live .member').length === "+itoa(n))
}

// TestIntegrationPageGroup answers what several containers ask on one card, by the keyboard, on a wide and a narrow
// screen. A container that asks while the card is shown joins it, and has to be seen. What a card did not show is not
// answered, and what has changed is shown again.
func TestIntegrationPageGroup(t *testing.T) {
	h := newHost(t, false)
	all := askers(t, h, 3)
	tab := h.ui(t).page(t, newBrowser(t))

	calls, ids := sameCalls(t, all[:2], "pwd")
	id := ids[0]
	tab.grouped(id, 2)
	tab.until("it has the focus", "document.activeElement.id === 'r-"+id+"'")
	tab.waitApprovable(id)
	eval[any](tab, "document.querySelector('"+card(id)+" .reason').value = 'typed'")
	calls = append(calls, all[2].Start(t, "hsh", "-c", "pwd"))
	tab.grouped(id, 3)
	want(t, "what was typed", eval[string](tab, "document.querySelector('"+card(id)+" .reason').value"), "typed")
	want(t, "the focus", eval[string](tab, "document.activeElement.id"), "r-"+id)
	for i, c := range all {
		if text := tab.text(card(id) + " .about"); !strings.Contains(text, c.Session) || !strings.Contains(text, h.Work+"/d"+itoa(i)) {
			t.Errorf("the card shows %q", text)
		}
	}
	tab.waitApprovable(id)
	tab.keys("a")
	tab.until("all are approved", "document.querySelector('"+card(id)+".settled').innerText.startsWith('Approved 3 of 3 ')")
	for i, call := range calls {
		want(t, "stdout", call.Ended(t).Out, h.Work+"/d"+itoa(i)+"\n")
	}
	want(t, "cards that wait", eval[int](tab, "document.querySelectorAll('.request.live').length"), 0)

	tab.do(chromedp.EmulateViewport(360, 640))
	calls, ids = sameCalls(t, all, "pwd; echo again")
	id = ids[0]
	tab.grouped(id, 3)
	want(t, "the page is wider than the screen", eval[bool](tab, "document.documentElement.scrollWidth > innerWidth"), false)
	tab.keys("j")
	tab.until("its end has to be seen", "document.querySelector('"+card(id)+" .hint').hidden === false")
	eval[any](tab, "document.querySelector('"+card(id)+" .end').scrollIntoView()") // as a person scrolls in a small window
	tab.waitApprovable(id)
	// As if the second had come after the card, and the third had become another question.
	eval[any](tab, "(m => { m[1].remove(); m[2].dataset.digest = '0000'; })(document.querySelectorAll('"+card(id)+" .member'))")
	tab.keys("A")
	tab.until("the menu is open", "document.activeElement.matches('"+card(id)+".live .menu')")
	tab.keys("\x1b")
	tab.keys("a")
	tab.until("it says which were not approved", "document.querySelector('"+card(id)+".settled').innerText.match(/^Approved 1 of 2 [^]*Not approved: .*: the request is not the one that was shown/)")
	want(t, "the page is wider than the screen", eval[bool](tab, "document.documentElement.scrollWidth > innerWidth"), false)
	want(t, "stdout", calls[0].Ended(t).Out, h.Work+"/d0\nagain\n")
	tab.until("the others are shown again", "(c => c.length === 1 && c[0].querySelectorAll('.member').length === 2)(document.querySelectorAll('.request.live'))")
	id = eval[string](tab, "document.querySelector('.request.live').dataset.id")
	tab.keys("j")
	tab.until("they can be denied", "document.querySelector('"+card(id)+" .never:enabled') !== null")
	tab.keys("D")
	tab.until("they are denied", "document.querySelector('"+card(id)+".settled').innerText.startsWith('Denied 2 of 2 for this session')")
	for i, call := range calls[1:] {
		want(t, "code", call.Ended(t).Code, 126)
		want(t, "code, unasked", all[i+1].Exec(t, "hsh", "-c", "pwd; echo again").Code, 126)
	}
	tab.until("each has a denial of its own", "document.querySelectorAll('#denials .row').length === 2")
}
