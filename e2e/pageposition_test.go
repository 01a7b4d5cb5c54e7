// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// TestIntegrationPageKeepsPosition adds and removes requests above and below the one that a person
// is about to answer. Its button stays below the mouse, and a click applies to it.
//
// Attack 111.
func TestIntegrationPageKeepsPosition(t *testing.T) {
	h := dockerUsers(t)[0]
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	tab := h.ui(t).page(t, newBrowser(t))
	above, idAbove := tab.asked(t, c, "hsh", "-c", "echo above", "hsh", "above")
	call, id := tab.asked(t, c, "hsh", "-c", "echo aimed", "hsh", "aimed")
	below, idBelow := tab.asked(t, c, "hsh", "-c", "echo below", "hsh", "below")
	eval[any](tab, "document.querySelector('"+card(id)+"').scrollIntoView({block: 'center'})")
	tab.waitApprovable(id)
	place := func() (at [2]float64) {
		v := eval[[]float64](tab, "(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('"+card(id)+" .approve').getBoundingClientRect())")
		copy(at[:], v)
		return at
	}
	aim := place()
	tab.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, aim[0], aim[1]))
	for what, away := range map[string]struct {
		call *Call
		id   string
	}{"above": {above, idAbove}, "below": {below, idBelow}} {
		away.call.Signal(t, "TERM")
		away.call.Ended(t)
		tab.until("the one "+what+" was taken back", "document.querySelector('"+card(away.id)+".live') === null")
		want(t, "where the button is without the one "+what, fmt.Sprint(place()), fmt.Sprint(aim))
	}
	late, idLate := tab.asked(t, c, "hsh", "-c", "echo late", "hsh", "late")
	want(t, "where it is with one that came later", fmt.Sprint(place()), fmt.Sprint(aim))
	want(t, "the order", eval[string](tab, "[...document.querySelectorAll('.request')].map(c => c.id).join()"), "r-"+idAbove+",r-"+id+",r-"+idBelow+",r-"+idLate)
	tab.waitApprovable(id) // it got the focus when it was the only one
	tab.do(chromedp.MouseClickXY(aim[0], aim[1]))
	want(t, "what the click has approved", call.Ended(t).Out, "aimed\n")
	want(t, "APPROVEs", len(h.Audit(t, c.Session, "HOSTEXEC APPROVE")), 1)
	tab.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 1, 1))
	tab.until("nobody aims any more, and no gap is left", "[...document.querySelectorAll('.request.settled')].every(c => c.offsetHeight < 100)")
	late.Signal(t, "TERM")
	late.Ended(t)
}
