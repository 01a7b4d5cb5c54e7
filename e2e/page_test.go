// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// asked makes a call that is asked about, and returns it with the request's id once the
// tab shows its card.
func (tab *Tab) asked(t *testing.T, c *Container, args ...string) (*Call, string) {
	t.Helper()
	call := c.Start(t, args...)
	return call, tab.waiting(args[len(args)-1])
}

// waiting returns the id of a request whose last word is word, once the tab shows its card.
func (tab *Tab) waiting(word string) (id string) {
	tab.t.Helper()
	eventually(tab.t, patience, "a card of "+word, func() bool {
		id = eval[string](tab, `[...document.querySelectorAll('.request.live')].filter(c => c.querySelector('li:last-child code')?.textContent === '`+word+`').map(c => c.dataset.id)[0] ?? ''`)
		return id != ""
	})
	return id
}

// TestIntegrationPage answers on the page, by mouse. A request appears by itself, runs if approved,
// does not run if denied, and its end is in the history.
func TestIntegrationPage(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh", "--proxy", "make=ask")
			h.Write(t, h.Work, "page.mk", "first:\n\t@echo approved $@ in $(CURDIR); exit 3\n", 0o644)
			u, browser := h.ui(t), newBrowser(t)
			tab := u.page(t, browser)
			want(t, "the address, which forgets the token", eval[string](tab, "location.href"), strings.Split(u.URL, "#")[0])
			want(t, "the title when nothing waits", eval[string](tab, "document.title"), "hostexec")

			call, id := tab.asked(t, c, "make", "-f", "page.mk", "first")
			want(t, "the title when something does", eval[string](tab, "document.title"), "(1) hostexec")
			shown := tab.text(card(id))
			for _, part := range []string{"0 make 1 -f 2 page.mk 3 first", "program " + find(t, "make"), "on the host in " + h.Work, "in the container /w", "rule --proxy make=ask", c.Session, id} {
				if !strings.Contains(shown, part) {
					t.Errorf("the card lacks %q: %s", part, shown)
				}
			}
			tab.waitApprovable(id)
			tab.click(card(id) + " .approve")
			r := call.Ended(t)
			want(t, "stdout", r.Out, "approved first in "+h.Work+"\n")
			want(t, "code", r.Code, 2) // make's, of a recipe that fails
			tab.until("it is settled", `document.querySelector('`+card(id)+`').className === 'request settled approved'`)
			want(t, "buttons left", eval[int](tab, "document.querySelectorAll('#pending button').length"), 0)
			tab.until("its end is shown", `document.querySelector('#audit .row')?.innerText.includes('exit 2')`)
			tab.until("the title at last", `document.title === 'hostexec'`)
			want(t, "APPROVE in the audit log", len(h.Audit(t, id, "HOSTEXEC APPROVE", "user=")), 1)

			call, id = tab.asked(t, c, "hsh", "-c", "echo ran", "hsh", "second")
			tab.waitApprovable(id)
			tab.click(card(id) + " .reason")
			tab.keys("not <b>today</b>")
			tab.click(card(id) + " .deny")
			r = call.Ended(t)
			want(t, "code of what is denied", r.Code, 126)
			if r.Out != "" || !strings.Contains(r.Err, "Command denied: not <b>today</b> (request "+id) {
				t.Errorf("the caller is told %v", r)
			}
			tab.until("the denial is shown", `document.querySelector('`+card(id)+`').innerText.startsWith('Denied')`)
			want(t, "code of ui after ^C", u.end(), 0)
		})
	}
}

// early presses j, a, Enter and a as soon as a card appears: whatever else the machine does,
// that is too early.
const early = `(() => {
  const press = key => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  new MutationObserver((_, observer) => {
    observer.disconnect();
    ['j', 'a', 'Enter', 'a'].forEach(press);
    window.early = document.querySelectorAll('.request.live').length;
  }).observe(document.querySelector('#pending'), { childList: true });
})()`

// TestIntegrationPageKeys answers by the keyboard alone. A single request has the focus. No key
// answers a request that has just appeared, or one of several without a selection.
//
// Attack 109.
func TestIntegrationPageKeys(t *testing.T) {
	h := dockerUsers(t)[0]
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	tab := h.ui(t).page(t, newBrowser(t))
	tab.keys("a\rd ") // typed before anything is there
	eval[any](tab, early)
	one, id := tab.asked(t, c, "hsh", "-c", "echo one", "hsh", "one")
	tab.until("the keys were pressed", "window.early === 1")
	want(t, "the card, answered too early", eval[bool](tab, "document.querySelector('"+card(id)+"').matches('.live')"), true)
	tab.waitApprovable(id)
	tab.keys("\r ") // neither is an answer
	two, id2 := tab.asked(t, c, "hsh", "-c", "echo two", "hsh", "two")
	want(t, "cards", eval[int](tab, "document.querySelectorAll('.request.live').length"), 2)
	want(t, "the focus", eval[string](tab, "document.activeElement.id"), "r-"+id)
	tab.keys("j")
	tab.waitApprovable(id2)
	want(t, "the focus after j", eval[string](tab, "document.activeElement.id"), "r-"+id2)
	tab.keys("k")
	want(t, "the focus after k", eval[string](tab, "document.activeElement.id"), "r-"+id)
	// Somebody comes back to the window.
	want(t, "enabled at once", eval[int](tab, "dispatchEvent(new Event('focus')), document.querySelectorAll('.answer button:enabled').length"), 0)
	tab.waitApprovable(id)
	tab.keys("a")
	want(t, "stdout", one.Ended(t).Out, "one\n")
	tab.until("the order is what it was", "document.querySelector('.request').id === 'r-"+id+"' && document.querySelector('.request:last-child').id === 'r-"+id2+"'")
	tab.until("the focus goes to the only one left", "document.activeElement.id === 'r-"+id2+"'")
	eval[any](tab, "document.activeElement.blur(); document.body.click()")
	want(t, "the focus after a click beside it", eval[string](tab, "document.activeElement.id"), "r-"+id2)
	tab.until("the gap is closed", "document.querySelector('"+card(id)+"').offsetHeight < 100")
	tab.waitApprovable(id2)
	tab.keys("r")
	want(t, "the focus after r", eval[string](tab, "document.activeElement.className"), "reason")
	// What drives the browser has typed the r there too, as nobody could.
	eval[any](tab, "document.activeElement.value = ''")
	tab.keys("d a\r") // into the reason; Enter denies there
	r := two.Ended(t)
	if r.Code != 126 || !strings.Contains(r.Err, "Command denied: d a (request") {
		t.Errorf("the caller is told %v", r)
	}
}

// TestIntegrationPageTabs answers in two tabs at once: one answer applies, and the other tab shows
// it. A tab whose page has gone does not say that nothing waits, and takes the address of the next
// page.
//
// Attack 112.
func TestIntegrationPageTabs(t *testing.T) {
	h := dockerUsers(t)[0]
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	u, browser := h.ui(t), newBrowser(t)
	tabs := []*Tab{u.page(t, browser), u.page(t, browser)}
	for range 5 {
		call, id := tabs[0].asked(t, c, "hsh", "-c", "exit 7", "hsh", "raced")
		tabs[1].until("the other tab shows it", "document.querySelector('"+card(id)+".live') !== null")
		tabs[0].waitApprovable(id)
		tabs[1].waitApprovable(id)
		var both sync.WaitGroup
		for i, verb := range []string{"approve", "deny"} {
			// ends when the browser has clicked.
			both.Go(func() { eval[any](tabs[i], "document.querySelector('"+card(id)+" ."+verb+"')?.click()") })
		}
		both.Wait()
		code := call.Ended(t).Code
		if code != 7 && code != 126 {
			t.Errorf("the caller's code is %d", code)
		}
		class := map[int]string{7: "approved", 126: "denied"}[code]
		for i, tab := range tabs {
			tab.until("tab "+string(rune('0'+i))+" knows who won", "document.querySelector('"+card(id)+"').matches('.settled."+class+"')")
		}
		if code == 126 {
			break // the same is not asked again for a while
		}
	}
	want(t, "answers in the audit log that do not agree", len(h.Audit(t, "HOSTEXEC APPROVE", c.Session)) != len(h.Audit(t, "HOSTEXEC START", c.Session)), false)
	u.end()
	tabs[0].until("the tab says that the page has gone", "document.querySelector('#state').textContent !== 'live'")
	eval[any](tabs[0], "document.querySelector('#pending').replaceChildren(), dispatchEvent(new Event('focus'))")
	tabs[0].until("and not that nothing waits", "document.querySelector('#quiet').hidden && !document.querySelector('#blind').hidden")

	tabs[0].again(t, h.ui(t))
	_, id := tabs[0].asked(t, c, "hsh", "-c", "exit 7", "hsh", "anew")
	tabs[0].waitApprovable(id)
	want(t, "the focus, with one that waits", eval[string](tabs[0], "document.activeElement.id"), "r-"+id)
	tabs[0].keys("d")
	tabs[0].until("its key answers", "document.querySelector('"+card(id)+"').matches('.settled.denied')")
	want(t, "what is below what", eval[string](tabs[0], "[...document.querySelectorAll('section > h2')].map(h => h.id).join()"), "h-pending,h-running,h-grants,h-denials,h-sessions,h-audit")
}

// again pastes the address of a page that was started anew into the tab of the one before, which
// was at the same port as a rule.
func (tab *Tab) again(t *testing.T, u *UI) {
	t.Helper()
	eval[any](tab, "void location.assign('"+u.URL+"')")
	tab.until("it is connected to the new page", "document.querySelector('#state').textContent === 'live' && location.href === '"+strings.Split(u.URL, "#")[0]+"'")
}

// TestIntegrationPageHostile asks with misleading text: the page shows all of it as text, and long
// text must be scrolled to its end.
//
// Attacks 92, 93, 94, 95, 109, 110.
func TestIntegrationPageHostile(t *testing.T) {
	h := dockerUsers(t)[0]
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	tab := h.ui(t).page(t, newBrowser(t))
	long := strings.Repeat("all is well ", 1700) + "; rm -rf /"
	args := []string{
		"hsh", "-c", "exit 0", `<script>document.title="owned"</script>`, `"><img src=x onerror=alert(1)>`, "{{.}}", "\x1b[2J\x1b]52;c;eA==\a", "\u202etxt.exe", "\u3164\u2800", "a\nb",
		`"already quoted"`, `' class="approve`, long, "hostile",
	}
	shown := []string{
		"hsh", "-c", "exit 0", `<script>document.title="owned"</script>`, `"><img src=x onerror=alert(1)>`, "{{.}}", `"\x1b[2J\x1b]52;c;eA==\a"`, `"\u202etxt.exe"`, `"\u3164\u2800"`, `"a\nb"`,
		`"\"already quoted\""`, `' class="approve`, long, "hostile",
	}
	shown[3], shown[4], shown[11] = `"<script>document.title=\"owned\"</script>"`, `"\"><img src=x onerror=alert(1)>"`, `"' class=\"approve"`
	call, id := tab.asked(t, c, args...)
	got := eval[[]string](tab, "[...document.querySelectorAll('"+card(id)+" .args code')].map(c => c.textContent)")
	for i, arg := range shown {
		if i >= len(got) || got[i] != arg {
			t.Errorf("argument %d is shown as %q, want %q", i, got[min(i, len(got)-1)], arg)
		}
	}
	want(t, "arguments", len(got), len(shown))
	want(t, "the lines of the one with a newline", eval[int](tab, "document.querySelectorAll('"+card(id)+" .args br').length"), 1)
	if line := tab.text(card(id) + " .line"); !strings.HasPrefix(line, `hsh -c 'exit 0' '<script>`) || !strings.HasSuffix(line, "...") {
		t.Errorf("the command in one line is %q", line)
	}
	want(t, "what is made of them", eval[int](tab, "document.querySelectorAll('"+card(id)+" :is(script, img)').length"), 0)
	want(t, "the title", eval[string](tab, "document.title"), "(1) hostexec")

	tab.do(chromedp.EmulateViewport(360, 740)) // a phone's
	want(t, "wider than a phone", eval[bool](tab, "document.documentElement.scrollWidth > innerWidth"), false)
	tab.until("it says that it goes on", "document.querySelector('"+card(id)+" .hint').hidden === false")
	tab.keys("ja")
	want(t, "its end is out of sight", eval[bool](tab, "document.querySelector('"+card(id)+" .approve').disabled"), true)
	eval[any](tab, "document.querySelector('"+card(id)+" .end').scrollIntoView()")
	tab.waitApprovable(id)
	tab.keys("a")
	want(t, "code", call.Ended(t).Code, 0)
}

// TestIntegrationPageKill ends a command that runs, from the page, with two clicks.
func TestIntegrationPageKill(t *testing.T) {
	h := dockerUsers(t)[0]
	c := h.Holding(t, "--proxy", "hsh=/bin/sh")
	tab := h.ui(t).page(t, newBrowser(t))
	call := c.Start(t, "hsh", "-c", "echo $$; while :; do sleep 1000; done", "hsh", "killed")
	root := hold(t, atoi(t, call.Line(t)))
	tab.until("it is shown", "document.querySelector('#running .cmd')?.innerText.includes('killed')")
	eval[any](tab, "document.querySelector('#running .kill').click()") // the list may be made anew under a mouse
	tab.pause(100 * time.Millisecond)
	want(t, "one click has ended it", root.Gone(0), false)
	eventually(t, grace, "two clicks have ended it", func() bool { // who is too slow begins again
		eval[any](tab, "document.querySelector('#running .kill:enabled')?.click()")
		return root.Gone(0)
	})
	want(t, "the caller's code", call.Ended(t).Code, 128+15)
	tab.until("it is not shown any more", "document.querySelector('#running .row') === null")
	tab.until("its end is", "[...document.querySelectorAll('#audit .row')].some(r => r.innerText.includes('killed') && r.querySelector('.outcome').innerText === 'TERM')")
	// The list may change too late for a click: the page says so, and is connected all the same.
	eval[any](tab, stale)
	tab.until("a click for a call that has ended is answered", "document.querySelector('#trouble').innerText === 'no command runs for that request'")
	want(t, "the state after it", tab.text("#state"), "live")
	want(t, "whether what waits is known", eval[bool](tab, "document.querySelector('#blind').hidden"), true)
}

// stale kills a call that has ended.
const stale = `(() => {
  const row = document.createElement('div');
  row.innerHTML = '<button class="kill sure" hx-post="/kill/ffffffffffffffff" hx-trigger="kill" hx-swap="none"></button>';
  document.querySelector('#running').append(row);
  htmx.process(row);
  row.firstChild.click();
})()`

// TestIntegrationPageOtherOrigins checks the page's responses to other clients: a page of another
// origin, and a command that a container called.
//
// Attacks 104, 106, 115, 124.
func TestIntegrationPageOtherOrigins(t *testing.T) {
	h := dockerUsers(t)[0]
	c := h.Holding(t, "--proxy", "hsh=/bin/sh")
	u := h.ui(t)
	browser := newBrowser(t)
	origin, token, _ := strings.Cut(u.URL, "/#token=")
	bare := open(t, browser, origin+"/")
	bare.until("without the token nothing is shown", "document.querySelector('#trouble').innerText.includes('lacks its token')")
	guess := open(t, browser, origin+"/#token="+strings.Repeat("0", 64))
	guess.until("nor with another", "document.querySelector('#trouble').innerText.includes('was restarted')")

	near := h.Holding(t, "--network", "host", "--proxy", "hsh=/bin/sh") // on the same 127.0.0.1
	host, port, _ := strings.Cut(strings.TrimPrefix(origin, "http://"), ":")
	for _, path := range []string{"/pending", "/events", "/sessions"} {
		r := near.Sh(t, `exec 3<>"/dev/tcp/$1/$2"; printf 'GET %s HTTP/1.1\r\nHost: %s:%s\r\n\r\n' "$3" "$1" "$2" >&3; head -n 1 <&3`, host, port, path)
		want(t, "what a container in the host's network gets of "+path, r.Out, "HTTP/1.1 401 Unauthorized\r\n")
	}

	r := c.Exec(t, "hsh", "-c", "HOSTEXEC_HOME="+h.State+" docker hostexec ui --no-open")
	if r.Code != 1 || strings.Contains(r.Out, token) || !strings.Contains(r.Err, "may not answer for you") {
		t.Errorf("a called command is told %v", r)
	}
	if again := h.Must(t, "hostexec", "ui", "--no-open"); again != u.URL+"\n" {
		t.Errorf("a second ui prints %q, want %q", again, u.URL)
	}
}
