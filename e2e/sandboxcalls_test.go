// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIntegrationSandboxTerminal types at a terminal of a command in a sandbox.
func TestIntegrationSandboxTerminal(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			h = newHost(t, h.cred != nil)
			if !sandboxed(t, h) {
				return
			}
			probe := probePath(t)
			h.Write(t, h.State, "config.yaml", "version: 1\ncommands:\n  sp:\n    where: sandbox\n    sandbox: {read: ["+probe+"]}\n", 0o600)
			useTerminal(t, h.Holding(t, "--proxy", "sp="+probe, "--proxy", "ssh=/bin/sh,where=sandbox"), "s")
		})
	}
}

// TestIntegrationSandboxJob confines jobs, kept ones, and the processes that they leave.
//
// Attack 239.
func TestIntegrationSandboxJob(t *testing.T) {
	h := newHost(t, false)
	if !sandboxed(t, h) {
		return
	}
	secret := h.Write(t, h.Home, "secret", "of the host\n", 0o600)
	c := h.Holding(t, "--proxy", "ssh=/bin/sh,where=sandbox,keep")
	script := "cat " + secret + "; setsid sh -c 'cat " + secret + "; echo left; exec sleep 1000' & chmod 700 . && echo begun; exec sleep 1000"
	for _, flag := range [][]string{nil, {"--keep"}} {
		id, p := c.Job(t, append(flag, "ssh", "-c", script)...)
		log := func() string { return c.Exec(t, "hostexec", "logs", id).Out }
		eventually(t, patience, "it has begun", func() bool {
			return strings.Contains(log(), "begun") && strings.Contains(log(), "left")
		})
		want(t, "it reads the secret", strings.Contains(log(), "of the host"), false)
		for _, pid := range append(children(t, p.PID), p.PID) {
			want(t, "a process is confined", status(pid, "Seccomp"), "2")
		}
		want(t, "kill", c.Exec(t, "hostexec", "kill", id).Code, 0)
		want(t, "it is gone", p.Gone(0), true)
	}
	r := c.Exec(t, "ssh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!")
	want(t, "what a command has left", cmdline(atoi(t, strings.TrimSpace(r.Out))), "")
}

// TestIntegrationSandboxShell runs texts of the container and of the host in shells that a flag, or the configuration,
// puts into a sandbox. The same text reads the secret in a shell without a sandbox.
//
// Attack 239.
func TestIntegrationSandboxShell(t *testing.T) {
	needBash(t)
	for _, h := range dockerUsers(t) {
		h := newHost(t, h.cred != nil)
		if !sandboxed(t, h) {
			return
		}
		secret := h.Write(t, h.Home, "secret", "of the host\n", 0o600)
		reads := "cat " + secret
		bare := h.Holding(t, "--proxy-shell")
		want(t, "create", bare.Exec(t, "hostexec", "session", "create", "s").Code, 0)
		want(t, "without a sandbox", bare.Exec(t, "hostexec", "session", "exec", "s", "--", reads).Out, "of the host\n")
		byFlag := h.Holding(t, "--proxy-shell=allow,where=sandbox", "--proxy", "hsh=allow,path=/bin/sh,where=sandbox")
		h.Write(t, h.State, "config.yaml", "version: 1\ncommands:\n  shell:\n    where: sandbox\n    sandbox: {env: [E]}\n", 0o600)
		for _, c := range []*Container{byFlag, h.Holding(t, "--proxy-shell")} {
			run := func(text string) Result { return c.Exec(t, "hostexec", "session", "exec", "s", "--", text) }
			want(t, "create", c.Exec(t, "hostexec", "session", "create", "s").Code, 0)
			want(t, "its state", run("cd /usr; x=5; f() { echo $x $PWD; }").Code, 0)
			want(t, "its state", run("f").Out, "5 /usr\n")
			for _, text := range []string{reads, "cat <" + secret, "echo x >" + secret, "setsid " + reads + " & wait $!", "kill -0 " + itoa(h.Watcher(t, c.Session).PID),
				"echo >/dev/tcp/127.0.0.1/1", "cat /proc/" + itoa(h.Watcher(t, c.Session).PID) + "/environ", "ls " + h.State} {
				if r := run(text); r.Code == 0 || strings.Contains(r.Out, "of the host") {
					t.Errorf("%s: %v", text, r)
				}
			}
			want(t, "a copy", c.Exec(t, "hostexec", "session", "exec", "s", "--", "(exit 7)").Code, 7)
			host := []string{"hostexec", "shell", "exec", c.Session, "s", "--"}
			want(t, "the host", strings.TrimSpace(h.Must(t, append(host, "f")...)), "5 /usr")
			want(t, "the host creates", h.Docker(t, "hostexec", "shell", "create", c.Session, "mine").Code, 0)
			r := h.Docker(t, "hostexec", "shell", "exec", c.Session, "mine", "--", reads)
			want(t, "the host's text reads the secret", r.Code == 0 || strings.Contains(r.Out, "of the host"), false)
			want(t, "the pid is of a process that is confined", run("grep Seccomp: /proc/self/status").Out, "Seccomp:\t2\n")
			left := hold(t, atoi(t, strings.TrimSpace(run("setsid sleep 1000 >/dev/null 2>&1 & echo $!").Out)))
			want(t, "remove", c.Exec(t, "hostexec", "session", "rm", "s").Code, 0)
			left.Ends(t, grace)
		}
		want(t, "create", byFlag.Exec(t, "hostexec", "session", "create", "t").Code, 0)
		scripts, _, _ := strings.Cut(byFlag.Exec(t, "hostexec", "session", "exec", "t", "--", "ls -d $TMPDIR/hostexec-output-*/shells").Out, "\n")
		want(t, "a shell has scripts", strings.Contains(scripts, "hostexec-output-"), true)
		r := byFlag.Exec(t, "hsh", "-c", "ls -d $TMPDIR/hostexec-output-*; ls "+scripts+"; echo evil >"+scripts+"/1.cmd")
		if r.Code == 0 || r.Out != "" {
			t.Errorf("another sandboxed command reaches the scripts of a shell: %v", r)
		}
		late := bare.Exec(t, "hostexec", "session", "exec", "s", "--", reads)
		want(t, "a shell that was started before", late.Code != 0 && strings.Contains(late.Err, "outside the sandbox"), true)
	}
}

// TestIntegrationAttackSandboxPrograms runs code of the workspace by programs other than make,
// which try to reach servers of the host.
//
// Attack 239.
func TestIntegrationAttackSandboxPrograms(t *testing.T) {
	h := newHost(t, false)
	if !sandboxed(t, h) {
		return
	}
	secret := h.Write(t, h.Home, "secret", "of the host\n", 0o600)
	page, err := net.Listen("tcp", "127.0.0.1:0") // as the page listens
	check(t, err)
	defer page.Close()
	other := h.Holding(t, "--proxy", "htrue=/bin/true")
	c := h.Holding(t, "--proxy", "sbash=/bin/bash,where=sandbox")
	for name, text := range map[string]string{
		"conftest.py": "print(open('" + secret + "').read())\n",
		"build.pl":    "open(F,'<','" + secret + "') or exit 1; print <F>;\n", // as build.rs
		"gen.go":      "package gen\n\n//go:generate cat " + secret + "\n",
		"configure":   "#!/bin/sh\ncat " + secret + "\n",
	} {
		h.Write(t, h.Work, name, text, 0o777)
	}
	h.Write(t, h.Work, "go.mod", "module x\n", 0o666)
	at := strings.Replace(page.Addr().String(), ":", "/", 1)
	for _, attack := range []string{
		"/usr/bin/python3 -c 'import conftest'", "perl build.pl", find(t, "go") + " generate ./...", "./configure",
		"git -c core.fsmonitor='cat " + secret + " >&2; false' -c alias.x='!cat " + secret + "' x",
		"systemd-run --user --wait true", "busctl --user list", "echo >/dev/tcp/" + at, "echo >/dev/udp/127.0.0.1/53",
		"ls " + filepath.Join(h.State, "sessions", other.Session), "cat " + filepath.Join(h.State, "sessions", other.Session, "session.json"),
		"/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"" + filepath.Join(h.State, "sessions", other.Session, "share", "socket") + "\")'",
		"/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0x\")'",
		"sudo -n true", "su -c true nobody", "mount -t tmpfs none .", "cat /proc/" + itoa(h.Watcher(t, c.Session).PID) + "/environ",
		"kill -STOP " + itoa(h.Watcher(t, c.Session).PID), "head -c 1 /proc/" + itoa(h.Watcher(t, other.Session).PID) + "/mem",
	} {
		r := c.Exec(t, "sbash", "-c", attack)
		if r.Code == 0 || strings.Contains(r.Out+r.Err, "of the host") {
			t.Errorf("%s: %v", attack, r)
		}
	}
	text, err := os.ReadFile(secret)
	check(t, err)
	want(t, "the secret", string(text), "of the host\n")
}
