// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// UI is docker hostexec ui, which a person has started.
type UI struct {
	URL string // with the token
	end func() int
}

// ui starts docker hostexec ui and waits for the address that it prints.
func (h *Host) ui(t testing.TB) *UI {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := h.Command(ctx, "docker", "hostexec", "ui", "--no-open")
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	url, err := bufio.NewReader(out).ReadString('\n')
	check(t, err)
	u := &UI{URL: strings.TrimSpace(url)}
	ended := false
	u.end = func() int {
		if !ended {
			ended = true
			syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) // as ^C does
			waitOr(t, func() error { cmd.Wait(); return nil })
		}
		return exitCode(cmd.ProcessState)
	}
	t.Cleanup(func() { u.end(); cancel() })
	return u
}

// newBrowser starts Chromium for the length of the test. The returned context makes tabs.
func newBrowser(t testing.TB) context.Context {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(find(t, "chromium", "chromium-browser", "google-chrome")),
		chromedp.WSURLReadTimeout(patience)) // which it has to print when it has started
	if os.Getuid() == 0 {
		opts = append(opts, chromedp.NoSandbox) // which root cannot have
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	ctx, closeAll := chromedp.NewExecAllocator(ctx, opts...)
	ctx, closeFirst := chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(func() { closeFirst(); closeAll(); cancel() })
	check(t, chromedp.Do(ctx)) // it has started
	return ctx
}

// Tab is a tab of a browser, and somebody in front of it.
type Tab struct {
	t   testing.TB
	ctx context.Context
}

// open opens url in a new tab.
func open(t testing.TB, browser context.Context, url string) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	tab := &Tab{t, ctx}
	tab.do(chromedp.EmulateViewport(1100, 900))
	done, console := make(chan struct{}), chromedp.Console(ctx)
	// ends with the tab; the cleanup waits for it.
	go func() {
		defer close(done)
		for m, err := range console {
			if err == nil && (m.IsException() || strings.Contains(m.Text, "Content Security Policy")) {
				t.Errorf("the browser complains: %v", m)
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	tab.visit(url)
	return tab
}

// visit opens url. A container that starts beside the test changes the machine's network, and Chromium gives up what
// it loads then: a person would reload the page.
func (tab *Tab) visit(url string) {
	tab.t.Helper()
	eventually(tab.t, patience, "the page is loaded", func() bool {
		err := chromedp.Do(tab.ctx, chromedp.Navigate(url))
		if err != nil && !strings.Contains(err.Error(), "net::ERR_NETWORK_CHANGED") {
			tab.t.Fatalf("open the page: %v", err)
		}
		return err == nil
	})
}

// page opens the page in a new tab, and waits until somebody can be asked.
func (u *UI) page(t testing.TB, browser context.Context) *Tab {
	t.Helper()
	tab := open(t, browser, u.URL)
	tab.until("it listens", `document.querySelector('#state').textContent === 'live'`)
	return tab
}

func (tab *Tab) do(what chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	check(tab.t, chromedp.Do(tab.ctx, what))
}

// eval evaluates a JavaScript expression in the tab.
func eval[T any](tab *Tab, expr string) T {
	tab.t.Helper()
	v, err := chromedp.Run(tab.ctx, chromedp.Evaluate[T](expr))
	if err != nil {
		tab.t.Fatalf("%s: %v", expr, err)
	}
	return v
}

// until waits until expr is true.
func (tab *Tab) until(what, expr string) {
	tab.t.Helper()
	defer tab.testify()
	safe := "(() => { try { return Boolean(" + expr + ") } catch { return false } })()" // what is not there yet
	eventually(tab.t, patience, what+": "+expr, func() bool {
		ok, err := chromedp.Run(tab.ctx, chromedp.Evaluate[bool](safe))
		if err != nil && !navigationError(err) {
			tab.t.Fatalf("%s: %v", safe, err)
		}
		return ok
	})
}

// navigationError reports whether err means that the document was replaced by another. A page may
// do so at any time.
func navigationError(err error) bool {
	for _, part := range []string{"Inspected target navigated", "Execution context was destroyed", "Cannot find context"} {
		if strings.Contains(err.Error(), part) {
			return true
		}
	}
	return false
}

// testify tells what the page shows if the test has failed.
func (tab *Tab) testify() {
	tab.t.Helper()
	if !tab.t.Failed() {
		return
	}
	shown, err := chromedp.Run(tab.ctx, chromedp.Evaluate[string]("(document.activeElement?.className ?? '') + '| ' + (document.body?.innerText ?? '').slice(0, 2000)"))
	tab.t.Logf("the focus, and what the page shows: %s, %v", shown, err)
}

// text is what is shown of the first element that sel selects, with single spaces; nothing if
// there is none.
func (tab *Tab) text(sel string) string {
	tab.t.Helper()
	return strings.Join(strings.Fields(eval[string](tab, "document.querySelector('"+sel+"')?.innerText ?? ''")), " ")
}

func (tab *Tab) click(sel string) {
	tab.t.Helper()
	tab.do(chromedp.Click(chromedp.CSS(sel)))
}

// keys types, as at the keyboard, wherever the focus is.
func (tab *Tab) keys(keys string) {
	tab.t.Helper()
	tab.do(chromedp.KeyEvent(keys))
}

// waitApprovable waits until the card of a request can be approved.
func (tab *Tab) waitApprovable(id string) {
	tab.t.Helper()
	tab.until("it can be approved", "document.querySelector('"+card(id)+" .approve')?.disabled === false")
}

func card(id string) string { return "#r-" + id }

// pause is for what a person does between two looks, and for nothing that a test waits for.
func (tab *Tab) pause(d time.Duration) { tab.do(chromedp.Sleep(d)) }
