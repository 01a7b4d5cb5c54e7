// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestIntegrationWhereIsolated checks what a command in a container can see of the host: the
// caller's directories, at their paths and with their permissions, and no more.
//
// Attacks 204, 206.
func TestIntegrationWhereIsolated(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			lent := filepath.Join(h.Home, "isolated")
			h.mkdir(t, lent)
			h.mkdir(t, filepath.Join(h.Work, "inner"))
			img := image(t, "full")
			c := h.Holding(t, "-v", lent+":/lent:ro", "-v", h.Work+"/inner:/inner", "--pass-env", "GIVEN",
				"--proxy", "csh=/bin/sh,where=container:"+img+",network=none,memory=64m,cpus=0.5,pids=50", "--proxy", "none=/bin/none,where=container:"+img,
				"--proxy", "text=/etc/passwd,where=container:"+img, "--proxy", "lost,where=container:hostexec-e2e/lost")
			uid, gid := os.Getuid(), os.Getgid()
			if h.cred != nil {
				uid, gid = int(h.cred.Uid), int(h.cred.Gid)
			}
			sh := func(script string) string { return c.Exec(t, "env", "GIVEN=yes", "csh", "-c", script).Out }
			want(t, "directory", sh("pwd; echo $PWD"), "/w\n/w\n")
			want(t, "user", sh("id -u; id -g"), itoa(uid)+"\n"+itoa(gid)+"\n")
			want(t, "environment", sh(`echo "$HOST_SECRET $GIVEN $HOME $PATH"`), " yes / "+imagePath+"\n")
			// Some kernels have more in every network than lo.
			none := h.Must(t, "run", "--rm", "--label", runLabel, "--network", "none", img, "ls", "/sys/class/net")
			want(t, "network", sh("ls /sys/class/net"), none)
			want(t, "privileges", sh("grep NoNewPrivs /proc/self/status"), "NoNewPrivs:\t1\n")
			want(t, "the session's socket", sh("ls -A /run/hostexec"), ".init\nsocket\n")
			want(t, "a read-only mount", sh("touch /lent/x 2>/dev/null; echo $?"), "1\n")
			want(t, "a mount within another", sh("ls -d /inner"), "/inner\n")
			want(t, "a call from there", c.Sh(t, "cd /inner && csh -c pwd").Out, "/inner\n")
			sh("echo text >made")
			fi, err := os.Stat(filepath.Join(h.Work, "made"))
			check(t, err)
			want(t, "owner", int(fi.Sys().(*syscall.Stat_t).Uid), uid)

			call := c.Start(t, "csh", "-c", "echo ready; read x")
			want(t, "line", call.Line(t), "ready")
			want(t, "limits", h.Must(t, "inspect", "--format", "{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}} {{.HostConfig.PidsLimit}} {{.Config.Cmd}}", c.callContainers(t)[0]), "67108864 500000000 50 [csh]\n")
			want(t, "what no call container has", h.Must(t, "inspect", "--format", "{{with .HostConfig}}{{.Privileged}} {{.PidMode}} {{.IpcMode}} {{.UTSMode}} {{.UsernsMode}} {{.CapAdd}} {{.Devices}} {{.LogConfig.Type}} {{.AutoRemove}}{{end}}", c.callContainers(t)[0]), "false  private   [] [] none true\n")
			call.Wait(t)

			r := c.Exec(t, "none")
			want(t, "a program that is not there", r.Code, 127)
			wantText(t, r.Err, "none: not found in container:"+img+" /bin/none")
			r = c.Exec(t, "text")
			want(t, "no program", r.Code, 126)
			wantText(t, r.Err, "not executable in container:"+img+" /etc/passwd")
			r = c.Exec(t, "lost")
			want(t, "an image that is not there", r.Code, 125)
			wantText(t, r.Err, "the engine has no image hostexec-e2e/lost")
			wantText(t, r.Err, "docker pull hostexec-e2e/lost on the host: images are not pulled for calls")
			c.wantNoCallContainer(t)
		})
	}
}

func wantText(t testing.TB, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q lacks %q", text, part)
	}
}

// TestIntegrationWhereConfigured checks where: in config.yaml, with rules and with plain --proxy. The host does
// not need the program.
func TestIntegrationWhereConfigured(t *testing.T) {
	h := newHost(t, false)
	img := image(t, "full")
	h.Write(t, h.State, "config.yaml", strings.ReplaceAll(`
commands:
  elsewhere:
    where: container:IMAGE
    exec: /bin/sh
    env: {pass: [HOST_SECRET], set: {SAID: here}}
    container: {network: none, pids: 30}
  ruled:
    where: container:IMAGE
    exec: /bin/cat
    rules:
      - {id: read, do: allow, argv: [{path: ws}]}
      - {id: copy, do: allow, argv: [-A, {path: ws, type: file, snapshot: true}]}
  make:
    where: container:IMAGE
    exec: /bin/sh
    rules:
      - {id: any, do: allow, argv: [-c, "echo made"]}
`, "IMAGE", img), 0o600)
	c := h.Holding(t, "--proxy", "elsewhere")
	want(t, "whole", c.Exec(t, "elsewhere", "-c", "echo $HOST_SECRET $SAID").Out, "of the host here\n")
	h.Write(t, h.Work, "note", "text\n", 0o644)
	if r := c.Exec(t, "hostexec", "ruled", "/w/note"); r.Out != "text\n" {
		t.Errorf("by a rule: %v", r)
	}
	want(t, "a copy", c.Exec(t, "hostexec", "ruled", "-A", "note").Out, "text$\n")
	want(t, "code of the container's, unasked", c.Exec(t, "hostexec", "make", "-c", "echo made").Out, "made\n")
	wantText(t, c.Exec(t, "hostexec", "ls").Out, "elsewhere   allow    container:"+img)
	wantText(t, c.Exec(t, "hostexec", "ls", "--json").Out, `"where": "container:`+img+`"`)
	r := h.Must(t, "hostexec", "policy", "explain", "--", "make", "-c", "echo made")
	wantText(t, r, "in a fresh container of "+img)
	want(t, "HOST CODE EXECUTION", strings.Contains(r, "HOST CODE"), false)
	if lines := h.Audit(t, " START ", `path="container:`+img+` /bin/cat"`); len(lines) != 2 {
		t.Errorf("%d records of START tell where, want 2", len(lines))
	}
	c.wantNoCallContainer(t)
}

// TestIntegrationWhereReplaced replaces the directory that a call was made in, while the call
// waits for a person, by a link to one that the container has not: the engine follows it, and
// the command does not run there.
//
// Attack 200.
func TestIntegrationWhereReplaced(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			h = newHost(t, h.cred != nil)
			private := filepath.Join(h.Home, "private")
			h.mkdir(t, private)
			h.Write(t, private, "secret", "secret\n", 0o644)
			h.mkdir(t, filepath.Join(h.Work, "inner"))
			h.Write(t, h.State, "config.yaml", "approval: {wait: always}\n", 0o600)
			c := h.Holding(t, "-v", h.Work+"/inner:/inner", "--proxy", "csh=ask,path=/bin/sh,where=container:"+image(t, "full"))
			const script = "cd /inner && exec csh -c 'echo look; cat secret'"
			call := c.Start(t, "bash", "-c", script)
			q := pending(t, h, "look", 1)[0]
			inner, old := filepath.Join(h.Work, "inner"), filepath.Join(h.Work, "old")
			check(t, os.Rename(inner, old)) // as the container can, below /w
			check(t, os.Symlink(private, inner))
			h.Must(t, "hostexec", "approve", q.ID)
			r := call.Wait(t)
			want(t, "code", r.Code, 125)
			want(t, "stdout", r.Out, "")
			wantText(t, r.Err, "working directory was replaced meanwhile")
			c.wantNoCallContainer(t)
			check(t, os.Remove(inner))
			check(t, os.Rename(old, inner))
			h.Write(t, inner, "secret", "mine\n", 0o644)
			call = c.Start(t, "bash", "-c", script)
			h.Must(t, "hostexec", "approve", pending(t, h, "look", 1)[0].ID)
			want(t, "stdout", call.Wait(t).Out, "look\nmine\n")
		})
	}
}
