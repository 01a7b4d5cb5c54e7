// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Attacks that use what the host's kernel and its file systems do.

// TestIntegrationAttackAbstractSocket looks for abstract sockets, which a container on the host's
// network could connect to or whose name it could take. During calls, no process of a session has
// one, on any carrier.
//
// Attack 43.
func TestIntegrationAttackAbstractSocket(t *testing.T) {
	h := newHost(t, os.Getuid() == 0)
	containers := map[string]*Container{}
	for _, carrier := range []string{"socket", "relay", "files"} {
		containers[carrier] = h.Holding(t, "--network", "host", "--carrier", carrier, "--proxy", "hsh=/bin/sh", "--proxy", "ask=ask,path=/bin/sh")
	}
	h.Proxy(t, "true")
	u := h.ui(t)
	for carrier, c := range containers {
		call := c.Start(t, "hsh", "-c", "echo $$; exec cat")
		called := call.Host(t)
		names, n := socketNames(t, append(processes(h.Home), called.PID))
		if n == 0 && carrier != "files" {
			t.Errorf("%s: no process has a socket with a name", carrier)
		}
		for _, name := range names {
			if !strings.HasPrefix(name, "/") {
				t.Errorf("%s: a socket is called %q", carrier, name)
			}
		}
		for _, name := range c.abstract(t) {
			if strings.Contains(name, "hostexec") {
				t.Errorf("%s: the container sees %q", carrier, name)
			}
		}
		want(t, "code", call.Wait(t).Code, 0)
	}
	u.end()
}

// socketNames are the names of the unix sockets that processes have open, and how many.
func socketNames(t *testing.T, pids []int) (names []string, n int) {
	t.Helper()
	open := map[string]bool{}
	for _, pid := range pids {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, fd := range fds {
			if link, err := os.Readlink(fd); err == nil {
				open[link] = true
			}
		}
	}
	for line := range strings.Lines(string(readFile(t, "/proc/net/unix"))) {
		if f := strings.Fields(line); len(f) > 7 && open["socket:["+f[6]+"]"] {
			names = append(names, strings.Join(f[7:], " "))
		}
	}
	return names, len(names)
}

// abstract are the names of abstract sockets that the container sees.
func (c *Container) abstract(t *testing.T) []string {
	t.Helper()
	return regexp.MustCompile(`@\S+`).FindAllString(c.Exec(t, "cat", "/proc/net/unix").Out, -1)
}

// TestIntegrationAttackSetuid leaves a setuid program of root in the workspace. A command of the
// host gains nothing by it, unless the user lets commands gain privileges.
//
// Attack 24.
func TestIntegrationAttackSetuid(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("who runs the tests has to be another user than root in a container: run the integration tests as root, or leave this one out by name")
	}
	h, _ := hostWithCanary(t) // an ordinary user
	secret := filepath.Join(h.Home, "secret")
	check(t, os.WriteFile(secret, []byte("of root\n"), 0o600))
	for _, tt := range []struct {
		flags []string
		uid   string
	}{
		{nil, itoa(ordinaryUID)},
		{[]string{"--allow-new-privs"}, "0"}, // which shows that it is a real one
	} {
		c := h.Holding(t, append(tt.flags, "--proxy", "hsh=/bin/sh", "--proxy", "hp="+probePath(t))...)
		if r := c.Sh(t, "cp /probe /w/planted && chmod 6755 /w/planted"); r.Code != 0 {
			t.Fatalf("plant it: %v", r)
		}
		r := c.Exec(t, "hsh", "-c", "./planted euid; ./planted cat "+secret)
		uid, rest, _ := strings.Cut(r.Out, "\n")
		want(t, "the user that it runs as", uid, tt.uid)
		want(t, "it reads root's file", rest == "of root\n", tt.uid == "0")
		want(t, "through a script", c.Exec(t, "hsh", "-c", "printf '#!%s/planted euid\n' $PWD > s; chmod 755 s; ./s; ./planted exec ./planted euid").Out, tt.uid+"\n"+tt.uid+"\n")
	}
}

// TestIntegrationAttackDeviceNode makes a device node in the workspace as the container's root,
// which everybody may open. The engine denies it to the container but not to the host, as the
// documentation says. Where the container may make none, there is none.
//
// Attack 24.
func TestIntegrationAttackDeviceNode(t *testing.T) {
	h, _ := hostWithCanary(t)
	for flag, code := range map[string]int{"CHOWN": 0, "MKNOD": 1} {
		c := h.Holding(t, "--cap-drop", flag, "--proxy", "hsh=/bin/sh")
		node := filepath.Join(h.Work, "node"+flag)
		r := c.Sh(t, `mknod -m 666 "$1" c 1 3 && test -c "$1"`, "/w/node"+flag)
		want(t, "mknod without "+flag, r.Code, code)
		if _, err := os.Lstat(node); (err == nil) != (code == 0) {
			t.Errorf("%s: %v", node, err)
		}
	}
}
