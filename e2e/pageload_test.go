// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"testing"

	browsernet "github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// TestIntegrationPageLoads opens a page while the browser gives up requests, as it does when the network changes: the
// page connects by itself.
func TestIntegrationPageLoads(t *testing.T) {
	u, browser := dockerUsers(t)[0].ui(t), newBrowser(t)
	t.Run("requests", func(t *testing.T) {
		tab := open(t, browser, "about:blank")
		fails := "{ let left = 2; const real = fetch; window.fetch = (...args) => left-- > 0 ? Promise.reject(new TypeError('Failed to fetch')) : real(...args) }"
		_, err := chromedp.Call(tab.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: fails})
		check(t, err)
		tab.visit(u.URL)
		tab.until("it is not connected", "!document.querySelector('#trouble').hidden")
		tab.until("it is connected", "document.querySelector('#state').textContent === 'live' && document.querySelector('#trouble').hidden")
	})
	t.Run("a script", func(t *testing.T) {
		tab := open(t, browser, "about:blank")
		block := func(patterns ...*browsernet.BlockPattern) {
			_, err := chromedp.Call(tab.ctx, browsernet.SetBlockedURLs, browsernet.SetBlockedURLsParams{URLPatterns: patterns})
			check(t, err)
		}
		_, err := chromedp.Call(tab.ctx, browsernet.Enable, browsernet.EnableParams{})
		check(t, err)
		block(&browsernet.BlockPattern{URLPattern: "*://*:*/static/htmx.js", Block: true})
		tab.visit(u.URL)
		tab.until("it is not connected", "!document.querySelector('#trouble').hidden")
		block()
		tab.until("it is connected", "document.querySelector('#state').textContent === 'live'")
	})
}
