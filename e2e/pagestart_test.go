// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// pages are the processes that serve the person's page in the background.
func (h *Host) pages() (pids []int) {
	for _, pid := range processes("ui --background") {
		env, _ := os.ReadFile("/proc/" + itoa(pid) + "/environ") // it is gone again, then
		if strings.Contains("\x00"+string(env), "\x00HOSTEXEC_HOME="+h.State+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// endPages ends the pages that are started during the test, when it ends.
func (h *Host) endPages(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		for _, pid := range h.pages() {
			syscall.Kill(pid, syscall.SIGTERM)
		}
		eventually(t, patience, "the page ends", func() bool { return len(h.pages()) == 0 })
	})
}

// TestIntegrationPageStarts checks that run starts the page in the background if there is a desktop and calls
// can ask. The page inherits nothing from run, and opens no browser before the first question.
func TestIntegrationPageStarts(t *testing.T) {
	h := newHost(t, false)
	opened := h.screen(t)
	h.endPages(t)
	h.mkdir(t, filepath.Join(h.Work, ".git"))
	h.Write(t, filepath.Join(h.Work, ".git"), "HEAD", "ref: refs/heads/fix/it\n", 0o644)

	r := h.Run(t, "--rm", "--proxy", "htrue=/bin/true", image(t, "busybox"), "/run/hostexec/bin/htrue")
	want(t, "code of a run that asks nothing", r.Code, 0)
	want(t, "pages after it", len(h.pages()), 0)

	held := h.Write(t, h.Home, "held", "", 0o644)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	args := h.runArgs("--rm", "--proxy", "htrue=ask,path=/bin/true", image(t, "busybox"), "sh", "-c", "trap exit INT; echo up; sleep 1000 & wait")
	cmd := h.Command(ctx, "bash", append([]string{"-c", `exec 9<"$1"; shift; exec docker "$@"`, "bash", held}, args...)...)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	lines := newScanner(out)
	if !lines.Scan() || lines.Text() != "up" {
		t.Errorf("the container says %q", lines.Text())
	}
	eventually(t, patience, "a page is started", func() bool { return len(h.pages()) == 1 })
	pid := h.pages()[0]
	page := hold(t, pid)
	sid, err := unix.Getsid(pid)
	check(t, err)
	want(t, "the page's session", sid, pid)
	fds, err := filepath.Glob("/proc/" + itoa(pid) + "/fd/*")
	check(t, err)
	for _, fd := range fds {
		to, err := os.Readlink(fd)
		if n := filepath.Base(fd); err == nil && (to == held || len(n) == 1 && n < "3" && to != "/dev/null") {
			t.Errorf("descriptor %s of the page is %s", n, to)
		}
	}
	check(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)) // as ^C does
	cmd.Wait()                                               // its code is docker's
	check(t, ctx.Err())
	want(t, "the page has ended with run", page.Gone(0), false)

	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	want(t, "pages when another session is there", len(h.pages()), 1)
	want(t, "browsers before the first question", len(opened.links()), 0)
	if shown := opened.answer(t, c); !strings.Contains(shown, "project, branch work fix/it") {
		t.Errorf("the card does not name the branch: %s", shown)
	}
}

// TestIntegrationPageStartsFor checks that run also starts the page if only the operations of git-push ask, or shells.
func TestIntegrationPageStartsFor(t *testing.T) {
	for name, tt := range map[string]struct{ quiet, asks string }{
		"pushes": {"--proxy=git-push=deny", "--proxy=git-push"},
		"shells": {"--proxy-shell", "--proxy-shell=ask"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, false)
			h.screen(t)
			h.endPages(t)
			h.Holding(t, tt.quiet)
			want(t, "pages when nothing asks", len(h.pages()), 0)
			h.Holding(t, tt.asks)
			eventually(t, patience, "a page is started", func() bool { return len(h.pages()) == 1 })
		})
	}
}

// TestIntegrationPageResumes checks that resume starts the page, too.
func TestIntegrationPageResumes(t *testing.T) {
	h := newHost(t, false)
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh") // without a desktop
	want(t, "pages without a desktop", len(h.pages()), 0)
	h.Must(t, "hostexec", "stop", c.Session)
	opened := h.screen(t)
	h.endPages(t)
	h.Must(t, "hostexec", "resume", c.Session)
	eventually(t, patience, "a page is started", func() bool { return len(h.pages()) == 1 })
	opened.answer(t, c)
}

// TestIntegrationPageNoOpen checks that a page without a browser reports waiting requests on its terminal,
// whose user can then be asked.
func TestIntegrationPageNoOpen(t *testing.T) {
	h := newHost(t, false)
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	m := h.term(t, "docker", "hostexec", "ui", "--no-open")
	m.Expect(t, "^C ends the page")
	eventually(t, patience, "somebody can be asked", func() bool {
		return !strings.Contains(c.Exec(t, "timeout", "1", "hsh", "-c", "exit 0").Err, "nobody is there")
	})
	call := c.Start(t, "hsh", "-c", "exit 5", "hsh", "told")
	m.Expect(t, "hostexec: a request waits: open the address above\r\n")
	h.Must(t, "hostexec", "approve", pending(t, h, "told", 1)[0].ID)
	want(t, "code", call.Ended(t).Code, 5)
	m.Type(t, "\x03")
	want(t, "code of ui after ^C", m.Wait(t), 0)
}
