// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestIntegrationAttackFilesOtherUsers makes calls as another user of the host: where the
// directories are new, where they existed before, and with files left from a time when they were
// open.
//
// Attack 126.
func TestIntegrationAttackFilesOtherUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("only root can be another user: run the integration tests as root, or leave this one out by name")
	}
	h := newHost(t, true)
	nobody := h.as(65534)
	submit := func(id string) Result {
		t.Helper()
		script := fmt.Sprintf(`printf -- '-c\0echo ran >%[1]s/ran\0' >%[2]s/%[3]s.req.tmp && mv %[2]s/%[3]s.req.tmp %[2]s/%[3]s.req`, h.Work, h.At("sh"), id)
		return nobody.feed(t, "", "/bin/sh", "-c", script)
	}
	unharmed := func(when string) {
		t.Helper()
		if _, err := os.Lstat(filepath.Join(h.Work, "ran")); err == nil {
			t.Errorf("%s: the command of another user ran", when)
		}
	}
	p := h.Proxy(t, "sh=/bin/sh")
	for _, dir := range []string{h.At("sh"), filepath.Dir(h.At("sh")), filepath.Dir(filepath.Dir(h.At("sh")))} {
		fi, err := os.Stat(dir)
		check(t, err)
		want(t, "the mode of "+dir, fi.Mode().Perm(), 0o700)
	}
	if r := submit("made"); r.Code == 0 {
		t.Errorf("another user put a request into a directory that was made for one: %v", r)
	}
	Submit(t, h.At("sh"), "own", "", "-c", "echo answered")
	want(t, "a request of root's", Answer(t, h.At("sh"), "own").Out, "answered\n")
	unharmed("a directory that was made")
	want(t, "its end", p.Stop(t, syscall.SIGTERM), 0)

	for _, dir := range []string{h.At("sh"), filepath.Dir(h.At("sh"))} {
		for _, mode := range []os.FileMode{0o777, 0o777 | os.ModeSticky, 0o770} {
			if dir != h.At("sh") && mode&os.ModeSticky != 0 {
				continue // nobody else can rename what is in it
			}
			check(t, os.Chmod(dir, mode))
			hint := "hostexec: hint: chmod 700 " + dir
			if mode&os.ModeSticky != 0 { // shared on purpose, as /tmp
				hint = "hostexec: hint: use a directory of your own"
			}
			if r := h.runsProxy(t, "sh=/bin/sh"); r.Code != 125 || !strings.Contains(r.Err, hint) {
				t.Errorf("%s with mode %v: %v, want code 125 and what to type", dir, mode, r)
			}
		}
		check(t, os.Chmod(dir, 0o700))
	}
	check(t, os.Chown(h.At("sh"), 65534, 65534))
	if r := h.runsProxy(t, "sh=/bin/sh"); r.Code != 125 || !strings.Contains(r.Err, "it belongs to uid 65534, not to you") {
		t.Errorf("another user's directory: %v", r)
	}
	check(t, os.Chown(h.At("sh"), int(h.cred.Uid), int(h.cred.Gid)))

	for dir, mode := range map[string]os.FileMode{h.At("sh"): 0o777, filepath.Dir(h.At("sh")): 0o711, filepath.Dir(filepath.Dir(h.At("sh"))): 0o711} {
		check(t, os.Chmod(dir, mode))
	}
	want(t, "what another user leaves while it is open", submit("left").Code, 0)
	check(t, os.Chmod(h.At("sh"), 0o700))
	p = h.Proxy(t, "sh=/bin/sh")
	r := Answer(t, h.At("sh"), "left")
	if r.Code != 125 || !strings.Contains(r.Err, "belongs to uid 65534") {
		t.Errorf("what another user has left: %v", r)
	}
	unharmed("what was left")
	want(t, "its end", p.Stop(t, syscall.SIGTERM), 0)

	check(t, os.RemoveAll(filepath.Join(h.Work, ".hostexec")))
	p = h.Proxy(t, "sh=/bin/sh", "--any-user")
	want(t, "with --any-user, what another user puts there", submit("open").Code, 0)
	want(t, "with --any-user, the answer", Answer(t, h.At("sh"), "open").Code, 0)
	p.Stop(t, syscall.SIGTERM)
	if !strings.Contains(p.errs.String(), "warning: --any-user: every user of this host who can enter "+h.At("sh")+" runs these commands as you") {
		t.Errorf("--any-user warns %q", p.errs.String())
	}
}

// TestIntegrationAttackFilesSession looks as another user of the host for a session's request
// directories, and for everything else that any user of a container may use.
//
// Attack 126.
func TestIntegrationAttackFilesSession(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("only root can be another user: run the integration tests as root, or leave this one out by name")
	}
	h := newHost(t, true)
	c := h.Holding(t, "--carrier", "files", "--proxy", "hecho="+find(t, "echo"))
	want(t, "a call", c.Exec(t, "hecho", "x").Out, "x\n")
	dir := filepath.Join(h.State, "sessions", c.Session)
	for _, name := range []string{"", "/proxy", "/proxy/hecho", "/share", "/share/bin/hostexec", "/control.sock", "/exec.sock"} {
		if r := h.as(65534).feed(t, "", "/bin/sh", "-c", "stat "+dir+name); r.Code == 0 {
			t.Errorf("another user can reach %s: %v", name, r)
		}
	}
}
