// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// TestScreenshots writes the documentation's screenshots to the directory HOSTEXEC_SCREENSHOTS (make screenshots), or
// else checks that they can be made.
func TestScreenshots(t *testing.T) {
	dir := cmp.Or(os.Getenv("HOSTEXEC_SCREENSHOTS"), t.TempDir())
	store := newStore(t)
	w := newWatcher(t, store)
	past(t, store.Audit(), w.id)
	w.runs = []control.Running{{Request: "3f1c9a0b52e87d46", Args: []string{"make", "test"}, Dir: "/home/you/app", PID: 4711, Since: time.Now().Add(-42 * time.Second)}}
	s := newPage(t, store)
	w.allowed(t, "go", "vet", "./...")
	push := approval.Question{
		ID: "0c4e71aa90bd3f55", Args: []string{"git", "push", "-u", "origin", "agent/fix-the-flaky-test"}, Cwd: "/home/you/app/server", Dir: "/home/you/app/server",
		Path: "/usr/bin/git", Rule: "git/push", Session: w.id, Container: "web", Project: "app", Branch: "agent/fix-the-flaky-test", Effects: []string{"network", "write"},
		Notes: []string{"called as git push"},
	}
	changed := w.queue.Changed()
	// Ends with the test's context.
	go w.queue.Ask(t.Context(), push, nil)
	<-changed
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"))
	if os.Getuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	ctx, stop := chromedp.NewExecAllocator(ctx, opts...)
	defer stop()
	ctx, end := chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	defer end()
	for _, shot := range []struct {
		name          string
		width, height int64
		scheme        string
	}{
		{"page-light.png", 1060, 1130, "light"}, {"page-phone.png", 390, 880, "light"}, {"page-dark.png", 1060, 1130, "dark"},
	} {
		if shot.scheme == "dark" {
			w.ask(t, "9b1d2c3e4f506172", "make", "deploy", "TARGET=staging", "NOTE=an argument\nof two lines")
		}
		take(t, ctx, s.URL(), filepath.Join(dir, shot.name), shot.width, shot.height, shot.scheme)
	}
}

// take opens the page in a new tab and writes a screenshot.
func take(t *testing.T, browser context.Context, url, file string, width, height int64, scheme string) {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	must(chromedp.Do(ctx, chromedp.EmulateViewport(width, height, chromedp.EmulateScale(2))))
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	must(err)
	must(chromedp.Do(ctx, chromedp.Navigate(url)))
	_, err = chromedp.Run(ctx, chromedp.Poll[bool](`document.querySelector('.deny:enabled') !== null && document.querySelector('#audit .row') !== null`))
	must(err)
	must(chromedp.Do(ctx, chromedp.Sleep(300*time.Millisecond))) // the buttons fade in
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	must(err)
	must(os.WriteFile(file, png, 0o644))
}

// allowed creates a grant.
func (w *watcher) allowed(t *testing.T, args ...string) {
	t.Helper()
	answer := w.ask(t, "77a0c1d2e3f40516", args...)
	q := w.queue.Pending()[0]
	if err := w.queue.Grant(q.ID, q.Digest(), q.Waiting, "you", approval.Terms{For: 15 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	<-answer
}

// past writes an audit log with some past requests.
func past(t *testing.T, path, session string) {
	t.Helper()
	log, err := audit.Open(path, audit.SessionInfo{Project: "app", Session: session, Container: "web"}, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, r := range []audit.Record{
		{Kind: audit.Complete, Request: "01", Args: []string{"git", "status"}, Duration: 8 * time.Millisecond},
		{Kind: audit.Complete, Request: "02", Args: []string{"make", "build"}, Exit: 2, Duration: 3400 * time.Millisecond},
		{Kind: audit.Deny, Request: "03", Args: []string{"git", "push", "origin", "main"}, By: "you", Reason: "push to a branch, not to main"},
		{Kind: audit.Complete, Request: "04", Args: []string{"make", "build"}, Duration: 41 * time.Second},
	} {
		if err := log.Write(r); err != nil {
			t.Fatal(err)
		}
	}
}
