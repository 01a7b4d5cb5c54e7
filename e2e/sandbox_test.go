// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/sandbox"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// sandboxed reports whether this kernel can confine programs. Otherwise it checks that nothing falls back.
func sandboxed(t *testing.T, h *Host) bool {
	t.Helper()
	if sandbox.Supported() == nil {
		return true
	}
	r := h.Holding(t, "--proxy", "true=/bin/true,where=sandbox").Exec(t, "true")
	if r.Code == 0 || !strings.Contains(r.Err, "where=container:IMAGE") {
		t.Errorf("without Landlock: %v, want a refusal that names where=container:IMAGE", r)
	}
	return false
}

// TestIntegrationSandbox runs the rows of scripts on the host and in a sandbox: the bytes and the codes
// are the same.
func TestIntegrationSandbox(t *testing.T) {
	for _, h := range anyUser(t) {
		if !sandboxed(t, h) {
			return
		}
		var flags []string
		for _, name := range []string{"sh", "bash", "cat"} {
			flags = append(flags, "--proxy", "h"+name+"=/bin/"+name, "--proxy", "s"+name+"=/bin/"+name+",where=sandbox")
		}
		c := h.Holding(t, flags...)
		for _, row := range whereRows {
			if strings.Contains(row, "Xp ") { // a program of the tests, which no sandbox may read
				continue
			}
			on, in := c.Long(t, strings.ReplaceAll(row, "X", "h")), c.Long(t, strings.ReplaceAll(row, "X", "s"))
			if in != on {
				t.Errorf("%s\nin a sandbox: %v\non the host: %v", row, in, on)
			}
		}
		want(t, "ls", strings.Contains(c.Exec(t, "hostexec", "ls").Out, "sandbox"), true)
	}
}

// TestIntegrationAttackSandbox lets the container write the Makefile that the host's make runs in a
// sandbox.
//
// Attacks 239, 274.
func TestIntegrationAttackSandbox(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			h = newHost(t, h.cred != nil)
			if !sandboxed(t, h) {
				return
			}
			h.Write(t, h.Home, "secret", "of the host\n", 0o600)
			near, err := net.Listen("tcp", "127.0.0.1:0")
			check(t, err)
			defer near.Close()
			c := h.Holding(t, "--proxy", "make,where=sandbox", "--proxy", "perl=/usr/bin/perl,where=sandbox", "--proxy", "hperl=/usr/bin/perl")
			c.passSockets(t)
			secret := filepath.Join(h.Home, "secret")
			for _, command := range []string{
				"cat " + secret, "ls " + h.Home, "ls " + h.State, "echo x >" + secret, "echo x >" + h.Home + "/new", "truncate -s 0 " + secret,
				"mv " + secret + " taken", "ln " + secret + " taken", "rm -f " + secret, "chmod 777 " + secret, "chmod 777 " + h.Home, "touch -d @1 " + secret,
				"ln -sf " + secret + " link; cat link", "ln -sf " + secret + " link; chmod 777 link", "cat /proc/$$PPID/root" + secret,
				"bash -c 'echo >/dev/tcp/" + strings.Replace(near.Addr().String(), ":", "/", 1) + "'", "bash -c 'echo >/dev/udp/127.0.0.1/53'",
				"docker -H unix:///var/run/docker.sock version", "unshare -r true", "kill -0 1", "nsenter -t 1 -a true",
				"for p in /proc/[0-9]*/environ; do grep -lq HOSTEXEC_HOME $$p && exit 0; done; exit 1",
			} {
				h.Write(t, h.Work, "Makefile", "all:\n\t@"+command+"\n", 0o666)
				if r := c.Exec(t, "make"); r.Code != 2 {
					t.Errorf("%s: %v", command, r)
				}
			}
			h.Write(t, h.Work, "Makefile", "all:\n\t@env; echo made >made; chmod 640 made\n", 0o666)
			r := c.Exec(t, "make")
			want(t, "make", r.Code, 0)
			want(t, "the environment has no directory of the host", strings.Contains(r.Out, "HOSTEXEC_HOME"), false)
			made, err := os.Stat(filepath.Join(h.Work, "made"))
			check(t, err)
			want(t, "its mode", made.Mode().Perm(), os.FileMode(0o640))
			fi, err := os.Stat(secret)
			check(t, err)
			want(t, "the secret's mode", fi.Mode().Perm(), os.FileMode(0o600))
			text, err := os.ReadFile(secret)
			check(t, err)
			want(t, "the secret", string(text), "of the host\n")
		})
	}
}

// passSockets passes sockets of the container as stdin. A program in a sandbox could connect one to any socket of the
// host, or send descriptors of the host's directories to the container. Without a sandbox it can.
func (c *Container) passSockets(t *testing.T) {
	t.Helper()
	const isSocket, connects = `exit !-S STDIN`, `use Socket; exit !connect(STDIN, pack_sockaddr_un("/var/run/docker.sock"))`
	for _, tt := range []struct{ kind, script string }{{"stream", isSocket}, {"unconnected", isSocket}, {"unconnected", connects}} {
		for name, code := range map[string]byte{"perl": 1, "hperl": 0} {
			started, exit := c.send(t, request(func(m *wire.Exec) {
				m.Args, m.Passed, m.FDs[0] = []string{name, "-e", tt.script}, 1, wire.FDSocket
			}), tt.kind)
			if !started || exit == nil || exit.Outcome != wire.Exited || exit.Code != code {
				t.Errorf("%s gets a socket (%s), %s: started %t, exit %+v", name, tt.kind, tt.script, started, exit)
			}
		}
	}
}

// TestIntegrationSandboxRefuses checks that a sandbox is refused if it could not confine the command.
//
// Attack 272.
func TestIntegrationSandboxRefuses(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	if !sandboxed(t, h) {
		return
	}
	h.mkdir(t, filepath.Join(h.Work, ".git"))
	tools := filepath.Join(h.Home, "tools")
	h.mkdir(t, tools)
	tool := h.Write(t, tools, "tool", "#!/bin/sh\necho tool\n", 0o755)
	for _, tt := range []struct {
		name  string
		flags []string
		want  string
	}{
		{"a read-only part", []string{"-v", h.Work + "/.git:/w/.git:ro", "--proxy", "tool=/bin/true,where=sandbox"}, `"/w/.git" is another mount`},
		{"a hidden part", []string{"-v", "/dev/null:/w/.env", "--proxy", "tool=/bin/true,where=sandbox"}, `"/w/.env" is another mount`},
		{"a program of the home", []string{"--proxy", "tool=" + tool + ",where=sandbox"}, "commands.tool.sandbox.read"},
		{"privileges", []string{"--allow-new-privs", "--proxy", "tool=/bin/true,where=sandbox"}, "no program gains privileges in a sandbox"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := h.Holding(t, tt.flags...)
			r := c.Exec(t, "tool")
			if r.Code == 0 || !strings.Contains(r.Err, tt.want) {
				t.Errorf("%v, want %q", r, tt.want)
			}
		})
	}
	h.Write(t, h.Home, "secret", "of the host\n", 0o600)
	check(t, os.Symlink("..", filepath.Join(h.Work, "cache"))) // as the container could
	var links, states, flags []string
	for _, list := range []string{"cache", "read", "creds", "write"} {
		links = append(links, "{"+list+": [~/work/cache]}")
	}
	for _, list := range []string{"write: [" + h.Home, "read: [/", "creds: [" + h.State + "/config.yaml", "cache: [~/state/sessions"} {
		states = append(states, "{"+list+"]}")
	}
	config := "version: 1\ncommands:\n"
	for i, sandbox := range append(slices.Concat(links, states), "{read: ["+tools+"]}") {
		config += "  tool" + itoa(i) + ": {where: sandbox, sandbox: " + sandbox + "}\n"
		flags = append(flags, "--proxy", "tool"+itoa(i)+"=/bin/sh")
	}
	flags[len(flags)-1] = "tool8=" + tool
	h.Write(t, h.State, "config.yaml", config, 0o600)
	c := h.Holding(t, flags...)
	for i, sandbox := range links {
		r := c.Exec(t, "tool"+itoa(i), "-c", "cat ~/work/cache/secret")
		if r.Code == 0 || r.Out != "" || !strings.Contains(r.Err, "the container can replace ") {
			t.Errorf("%s: a link of the container: %v", sandbox, r)
		}
	}
	for i, sandbox := range states {
		r := c.Exec(t, "tool"+itoa(len(links)+i), "-c", "echo ran")
		if r.Code == 0 || r.Out != "" || !strings.Contains(r.Err, "shows the state of hostexec") {
			t.Errorf("%s shows the state: %v", sandbox, r)
		}
	}
	want(t, "a program that may be read", c.Exec(t, "tool8").Out, "tool\n")
}

// TestIntegrationSandboxReplaces has code in a sandbox replace, in a directory that it may write, a path that a sandbox
// opens.
//
// Attack 277.
func TestIntegrationSandboxReplaces(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	if !sandboxed(t, h) {
		return
	}
	at, private := filepath.Join(h.Home, "own"), filepath.Join(h.Home, "private")
	for _, dir := range []string{at, private} {
		h.mkdir(t, dir)
	}
	for _, name := range []string{"read", "creds", "cache", "write"} {
		h.mkdir(t, filepath.Join(at, name))
	}
	h.Write(t, private, "secret", "of the host\n", 0o600)
	check(t, os.Symlink(at, filepath.Join(h.Home, "link")))
	config := "version: 1\ncommands:\n  own: {where: sandbox, sandbox: {write: [" + at + "]}}\n"
	flags := []string{"--proxy", "own=/bin/sh"}
	for _, list := range []string{"read", "creds", "cache", "write"} {
		for _, dir := range []string{"own", "link"} {
			config += "  " + list + dir + ": {where: sandbox, sandbox: {" + list + ": [" + filepath.Join(h.Home, dir, list) + "]}}\n"
			flags = append(flags, "--proxy", list+dir+"=/bin/sh")
		}
	}
	h.Write(t, h.State, "config.yaml", config, 0o600)
	c := h.Holding(t, flags...)
	for _, list := range []string{"read", "creds", "cache", "write"} {
		r := c.Exec(t, "own", "-c", "mv "+at+"/"+list+" "+at+"/old-"+list+" && ln -s "+private+" "+at+"/"+list)
		if r.Code != 0 {
			t.Fatal(r)
		}
		for _, dir := range []string{"own", "link"} {
			r := c.Exec(t, list+dir, "-c", "cat "+private+"/secret ~/"+dir+"/"+list+"/secret")
			if r.Code == 0 || r.Out != "" || !strings.Contains(r.Err, "a sandbox can replace ") {
				t.Errorf("%s through %s: %v", list, dir, r)
			}
		}
	}
}
