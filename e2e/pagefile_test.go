// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var openingCode = regexp.MustCompile(`#code=([0-9a-f]{64})`)

// secretsIn are the secrets that the command lines of all processes of the host have, among
// these.
func secretsIn(secrets ...string) (found []string) {
	for _, pid := range processes() {
		line := cmdline(pid)
		for _, s := range secrets {
			if strings.Contains(line, s) {
				found = append(found, line)
			}
		}
	}
	return found
}

// TestIntegrationPageFile checks that another user of the host sees neither the code nor the token
// when a browser is started.
//
// Attack 108.
func TestIntegrationPageFile(t *testing.T) {
	h, _ := hostWithCanary(t)
	opened := h.screen(t)
	started, profile := filepath.Join(h.Home, "started"), filepath.Join(h.Home, "profile")
	// It waits for the test to have looked, and then is the browser.
	h.Write(t, filepath.Join(h.Home, "bin"), "xdg-open", `#!/bin/sh
echo "$@" >>`+opened.file+`
while [ ! -e `+started+` ]; do sleep 0.05; done
exec `+find(t, "chromium", "chromium-browser", "google-chrome")+` --headless --no-sandbox --no-first-run --disable-gpu --remote-debugging-port=0 --user-data-dir=`+profile+` "$@" >/dev/null 2>&1
`, 0o755)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := h.Command(ctx, "docker-hostexec", "ui", "--background")
	cmd.Path, cmd.Err = pluginPath(t), nil
	check(t, cmd.Start())
	t.Cleanup(func() { cancel(); cmd.Wait() })
	h.endPages(t) // run may be faster
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	waitUntilAsked(t, c, "hsh", "-c", "exit 0")
	call := c.Start(t, "hsh", "-c", "exit 5", "hsh", "opened")
	eventually(t, patience, "a browser is opened", func() bool { return len(opened.links()) > 0 })

	file, ok := strings.CutPrefix(opened.links()[0], "file://")
	if !ok || len(opened.links()) != 1 {
		t.Fatalf("what is opened is %q", opened.links())
	}
	fi, err := os.Stat(file)
	check(t, err)
	want(t, "the file's mode", fi.Mode(), fs.FileMode(0o600))
	dir, err := os.Stat(filepath.Dir(file))
	check(t, err)
	want(t, "its directory's mode", dir.Mode().Perm(), fs.FileMode(0o700))
	if r := h.as(ordinaryUID+1).feed(t, "", "cat", file); r.Code == 0 || r.Out != "" {
		t.Errorf("another user reads the file: %v", r)
	}
	code := openingCode.FindStringSubmatch(string(readFile(t, file)))
	token := regexp.MustCompile(`[0-9a-f]{64}`).FindString(string(readFile(t, filepath.Join(h.State, "page.json"))))
	if code == nil || token == "" {
		t.Fatalf("there is no code, or no token")
	}
	check(t, os.WriteFile(started, nil, 0o644))
	eventually(t, patience, "the browser has used the file", func() bool {
		if seen := secretsIn(code[1], token); len(seen) > 0 {
			t.Fatalf("command lines have secrets: %q", seen)
		}
		_, err := os.Stat(file)
		return os.IsNotExist(err)
	})
	if seen := secretsIn(code[1], token); len(seen) > 0 {
		t.Errorf("command lines have secrets: %q", seen)
	}
	want(t, "browsers that were opened", len(opened.links()), 1)
	h.Must(t, "hostexec", "approve", pending(t, h, "opened", 1)[0].ID)
	want(t, "code", call.Ended(t).Code, 5)

	for _, pid := range processes("--user-data-dir=" + profile) {
		syscall.Kill(pid, syscall.SIGTERM) // it writes its history
	}
	eventually(t, patience, "the browser ends", func() bool { return len(processes("--user-data-dir="+profile)) == 0 })
	for _, root := range []string{profile, h.State} {
		check(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			if bytes.Contains(b, []byte(token)) && path != filepath.Join(h.State, "page.json") {
				t.Errorf("%s has the token", path)
			}
			// Chromium notes each address in the person's own profile. The history is what it shows.
			if bytes.Contains(b, []byte(code[1])) && (root == h.State || strings.HasPrefix(filepath.Base(path), "History")) {
				t.Errorf("%s has the code", path)
			}
			return err
		}))
	}
}

// TestIntegrationPageCodeUsedTwice has another program present the code before the browser does.
// The browser reports it, and the other program's token is revoked.
//
// Attack 108.
func TestIntegrationPageCodeUsedTwice(t *testing.T) {
	h := newHost(t, false)
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh") // without a desktop, where it would start the page
	u, browser := h.ui(t), newBrowser(t)
	opened := h.screen(t)
	origin, _, _ := strings.Cut(u.URL, "/#token=")
	own := u.page(t, browser) // by the address that was printed
	open1 := func() string {
		n := len(opened.links())
		h.Must(t, "hostexec", "ui")
		eventually(t, patience, "a browser is opened", func() bool { return len(opened.links()) > n })
		return opened.links()[n]
	}
	good := open(t, browser, open1())
	good.until("the file opens the page", "document.querySelector('#state').textContent === 'live'")
	want(t, "the address", eval[string](good, "location.href"), origin+"/")
	want(t, "the referrer", eval[string](good, "document.referrer"), "")
	within(t, "pages of its history, the empty tab among them", eval[int](good, "history.length"), 2)
	want(t, "the opener", eval[bool](good, "window.opener === null"), true)
	for _, entry := range eval[[]string](good, "performance.getEntries().filter(e => e.entryType !== 'navigation').map(e => e.name)") {
		if strings.Contains(entry, "code=") || strings.Contains(entry, "token=") {
			t.Errorf("the browser's entry %s has a secret", entry)
		}
	}

	link := open1()
	code := openingCode.FindStringSubmatch(string(readFile(t, strings.TrimPrefix(link, "file://"))))[1]
	first := open(t, browser, origin+"/#code="+code) // the other program's
	first.until("it has the page", "document.querySelector('#state').textContent === 'live'")
	call, id := first.asked(t, c, "hsh", "-c", "exit 5", "hsh", "stolen")
	stolen := eval[string](first, "sessionStorage.getItem('hostexec-token')")
	second := open(t, browser, origin+"/#code="+code)
	second.until("the second says so", "document.querySelector('#trouble').innerText.includes('This link was used before') && document.querySelector('#trouble').innerText.includes('docker hostexec ui')")
	first.until("the first says so", "document.querySelector('#trouble').innerText.includes('The token of this page was revoked')")
	want(t, "what is left on it", eval[int](first, "document.querySelectorAll('.request, .row').length"), 0)
	want(t, "its key", eval[bool](first, "sessionStorage.getItem('hostexec-token') === null"), true)
	for _, path := range []string{"/pending", "/events", "/sessions"} {
		status := eval[int](own, "(() => { const r = new XMLHttpRequest(); r.open('GET', '"+path+"', false); r.setRequestHeader('X-Hostexec-Token', '"+stolen+"'); r.send(); return r.status })()")
		want(t, "the stolen token at "+path, status, 401)
	}
	for _, tab := range []*Tab{own, good} {
		tab.until("another tab shows it still", "document.querySelector('"+card(id)+".live') !== null && document.querySelector('#state').textContent === 'live'")
	}
	good.waitApprovable(id)
	good.click(card(id) + " .approve")
	want(t, "code", call.Ended(t).Code, 5)
	if log := string(readFile(t, filepath.Join(h.State, "page.log"))); !strings.Contains(log, "used twice") || strings.Contains(log, code) {
		t.Errorf("the page's log says %q", log)
	}
}
