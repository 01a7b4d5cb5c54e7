// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIntegrationPageOpens has a page in the background open a browser when a question comes and no
// tab is open. Its command line, which all users can see, names a file and contains neither the
// code nor the token.
//
// Attack 108.
func TestIntegrationPageOpens(t *testing.T) {
	h := newHost(t, false)
	opened := h.screen(t)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := h.Command(ctx, "docker-hostexec", "ui", "--background")
	cmd.Path, cmd.Err = pluginPath(t), nil
	check(t, cmd.Start())
	t.Cleanup(func() { cancel(); cmd.Wait() })
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	opened.answer(t, c)
}

// screen is where a person sees a browser that opens.
type screen struct{ file string }

// screen gives the person a desktop: xdg-open writes down what it was to open.
func (h *Host) screen(t testing.TB) screen {
	t.Helper()
	bin := filepath.Join(h.Home, "bin")
	d := screen{filepath.Join(h.Home, "opened")}
	h.mkdir(t, bin)
	h.Write(t, bin, "xdg-open", "#!/bin/sh\necho \"$@\" >>"+d.file+"\n", 0o755)
	h.Env = append(h.Env, "DISPLAY=:0", "PATH="+bin+":"+os.Getenv("PATH"))
	return d
}

// links are what was opened so far.
func (d screen) links() []string {
	b, _ := os.ReadFile(d.file) // nothing was, then
	return strings.Fields(string(b))
}

// answer makes a call that is asked about, and approves it in the browser that is opened
// for it.
func (d screen) answer(t *testing.T, c *Container) (shown string) {
	t.Helper()
	browser := newBrowser(t) // it may take its time, and the link is not good for long
	waitUntilAsked(t, c, "hsh", "-c", "exit 0")
	call := c.Start(t, "hsh", "-c", "exit 5", "hsh", "opened")
	eventually(t, patience, "a browser is opened", func() bool { return len(d.links()) > 0 })
	link := d.links()[0]
	if !strings.HasPrefix(link, "file:///") || strings.Contains(link, "#") || len(d.links()) != 1 {
		t.Errorf("what is opened is %q", d.links())
	}
	tab := open(t, browser, link)
	tab.until("it shows what waits", "document.querySelector('.request.live').innerText.includes('opened')")
	id := eval[string](tab, "document.querySelector('.request.live').dataset.id")
	shown = tab.text(card(id))
	tab.waitApprovable(id)
	tab.click(card(id) + " .approve")
	want(t, "code", call.Ended(t).Code, 5)
	return shown
}
