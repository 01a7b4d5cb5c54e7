// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// gitHost makes a remote with one commit on main, which the configuration names, and returns its path. The preset permits
// pushes to agent/*.
func gitHost(t *testing.T, h *Host) (remote string) {
	t.Helper()
	remote = filepath.Join(h.Home, "remote.git")
	script := `git init -q --bare -b main remote.git; git init -q -b main seed; cd seed; echo 1 >f; git add f
		git -c user.name=a -c user.email=a@b commit -qm one; git push -q ../remote.git main`
	if r := h.feed(t, "", "/bin/sh", "-ec", "cd "+h.Home+"; "+script); r.Code != 0 {
		t.Fatalf("make a remote: %v", r)
	}
	h.Write(t, h.State, "config.yaml", `version: 1
approval: {wait: always}
git: {remotes: {origin: `+remote+`}}
`, 0o600)
	h.Must(t, "hostexec", "policy", "init", "--write", "git-push")
	return remote
}

// gitContainer is a container with git, and a clone of the remote in /w/c.
func gitContainer(t *testing.T, h *Host, flags ...string) *Container {
	t.Helper()
	args := append([]string{"-v", h.Work + ":/w", "-w", "/w", "-e", "HOME=/tmp", "-e", "GIT_AUTHOR_NAME=a", "-e", "GIT_AUTHOR_EMAIL=a@b", "-e", "GIT_COMMITTER_NAME=a",
		"-e", "GIT_COMMITTER_EMAIL=a@b", "--tmpfs", "/tmp", "--proxy", "git-push"}, flags...)
	c := h.Detached(t, append(args, image(t, "git"), "/probe", "hold")...)
	if r := c.Sh(t, "git clone -q hostexec::origin c"); r.Code != 0 {
		t.Fatalf("clone: %v", r)
	}
	return c
}

// ref returns the id of a ref of a repository of the host, or "".
func (h *Host) ref(t *testing.T, repository, ref string) string {
	t.Helper()
	return strings.TrimSpace(h.feed(t, "", "git", "--git-dir="+repository, "rev-parse", "-q", "--verify", ref).Out)
}

const aCommit = "cd /w/c; echo $RANDOM >>f; git commit -qam more; "

// TestIntegrationGitPush pushes and fetches through the host: by a rule, by an answer, and not.
//
// Attack 251.
func TestIntegrationGitPush(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			h := newHost(t, h.cred != nil)
			remote := gitHost(t, h)
			c := gitContainer(t, h)
			if r := c.Exec(t, "hostexec", "ls"); !strings.Contains(r.Out, `git config --global url.hostexec::origin.insteadOf "$(git config remote.origin.url)"`) {
				t.Errorf("ls: %v", r)
			}
			r := c.Sh(t, "echo hello | git-remote-hostexec origin origin 2>&1 | cat")
			want(t, "a message to a stderr that is stdout", strings.TrimSpace(r.Out), "hostexec: origin: git asks its helper for hello, which is not known")
			r = c.Sh(t, aCommit+"export HOSTEXEC_STDIN=null; git push origin main:agent/x") // stdin is git's protocol
			want(t, "a push that a rule permits", r.Code, 0)
			head := strings.TrimSpace(c.Sh(t, "git -C /w/c rev-parse HEAD").Out)
			want(t, "agent/x", h.ref(t, remote, "agent/x"), head)

			call := c.Start(t, "bash", "-c", "cd /w/c; git push origin main")
			q := pending(t, h, "git-push push origin main", 1)[0]
			if notes := h.Must(t, "hostexec", "pending", "--format", "{{.Notes}}"); !strings.Contains(notes, "new "+head) || !strings.Contains(notes, remote) || !strings.Contains(notes, "1 file changed") {
				t.Errorf("the question: %s", notes)
			}
			want(t, "main before the answer", h.ref(t, remote, "main") == head, false)
			h.Must(t, "hostexec", "approve", "--times", "5", q.ID) // of exactly these ids
			want(t, "an approved push", call.Wait(t).Code, 0)
			want(t, "main", h.ref(t, remote, "main"), head)
			for _, kind := range []string{"REQUEST", "APPROVE", "START", "COMPLETE"} {
				want(t, kind+" in the audit log", len(h.Audit(t, q.ID, "HOSTEXEC "+kind)), 1)
			}
			want(t, "the ids in the audit log", len(h.Audit(t, q.ID, "HOSTEXEC START", head+":refs/heads/main")), 1)

			call = c.Start(t, "bash", "-c", aCommit+"git push origin main")
			h.Must(t, "hostexec", "deny", "-m", "not today", pending(t, h, "git-push push origin main", 1)[0].ID)
			r = call.Wait(t)
			if r.Code != 1 || !strings.Contains(r.Err, "! [remote rejected] main -> main (hostexec: Command denied: not today)") {
				t.Errorf("a denied push: %v", r)
			}
			for what, script := range map[string]string{"force": "git commit -q --amend -m x; git push -f origin main", "delete": "git push origin :agent/x", "tag": "git tag v1; git push origin v1"} {
				r := c.Sh(t, "cd /w/c; git reset -q --hard origin/main; "+script)
				if r.Code != 1 || !strings.Contains(r.Err, "(hostexec: "+what+" needs a rule that names it: commands.git-push.rules)") {
					t.Errorf("%s: %v", what, r)
				}
				if hint := "docker hostexec policy explain --session " + c.Session + " -- git-push " + what + " origin "; !strings.Contains(r.Err, hint) {
					t.Errorf("%s: %v, want the hint %q", what, r, hint)
				}
			}
			if why := h.Must(t, "hostexec", "policy", "explain", "--session", c.Session, "--", "git-push", "force", "origin", "main"); !strings.Contains(why, "deny: force needs a rule") {
				t.Errorf("the hint's command: %s", why)
			}
			want(t, "main", h.ref(t, remote, "main"), head)
			want(t, "agent/x", h.ref(t, remote, "agent/x"), head)
		})
	}
}

// TestIntegrationGitPushLeaves ends the container's git, kills a call, and changes the remote while a question
// waits.
//
// Attack 252.
func TestIntegrationGitPushLeaves(t *testing.T) {
	h := newHost(t, false)
	remote := gitHost(t, h)
	c := gitContainer(t, h)
	old := h.ref(t, remote, "main")
	c.Sh(t, aCommit)
	const push = "cd /w/c; git push origin main"

	call := c.Start(t, "bash", "-c", "cd /w/c; timeout -s INT 2 git push origin main")
	pending(t, h, "git-push push origin main", 1)
	want(t, "git ends", call.Wait(t).Code != 0, true)
	pending(t, h, "git-push push origin main", 0)

	call = c.Start(t, "bash", "-c", push)
	pending(t, h, "git-push push origin main", 1)
	r := c.Sh(t, `hostexec ps | { read -r head; read -r id rest; hostexec kill $id; }`)
	want(t, "kill", r.Code, 0)
	want(t, "a killed push", call.Wait(t).Code != 0, true)
	pending(t, h, "git-push push origin main", 0)
	want(t, "main", h.ref(t, remote, "main"), old)

	call = c.Start(t, "bash", "-c", push)
	q := pending(t, h, "git-push push origin main", 1)[0]
	if r := h.feed(t, "", "/bin/sh", "-ec", "cd "+h.Home+"/seed; echo 2 >>f; git -c user.name=a -c user.email=a@b commit -qam theirs; git push -q ../remote.git main"); r.Code != 0 {
		t.Fatalf("move: %v", r)
	}
	theirs := h.ref(t, remote, "main")
	h.Must(t, "hostexec", "approve", q.ID)
	if r := call.Wait(t); r.Code != 1 || !strings.Contains(r.Err, "! [remote rejected] main -> main (origin: stale info)") {
		t.Errorf("the remote moved: %v", r)
	}
	want(t, "main", h.ref(t, remote, "main"), theirs)
	left, err := filepath.Glob(filepath.Join(h.State, "git", "incoming-*"))
	check(t, err)
	want(t, "what is left", len(left), 0)
	if r := c.Sh(t, "cd /w/c; git pull -q --no-rebase -X ours; git log --oneline origin/main"); r.Code != 0 || !strings.Contains(r.Out, "theirs") {
		t.Errorf("pull: %v", r)
	}
	h.Write(t, h.State, "config.yaml", "version: 9\n", 0o600)
	if r := c.Sh(t, "cd /w/c; git fetch"); r.Code == 0 || !strings.Contains(r.Err, "the host's configuration is broken") || strings.Contains(r.Err, "start the container") {
		t.Errorf("a broken configuration: %v", r)
	}
}

// TestIntegrationAttackGitPush pushes from a workspace with hooks and configuration of the
// container's. The host runs none of them, and asks about a remote that only the workspace names.
//
// Attack 250.
func TestIntegrationAttackGitPush(t *testing.T) {
	h, _ := hostWithCanary(t)
	gitHost(t, h)
	c := gitContainer(t, h)
	marker := filepath.Join(h.Home, "marker")
	evil := filepath.Join(h.Work, "evil")
	poison := `printf '#!/bin/sh\n: >` + marker + `\n' >/w/evil; chmod 755 /w/evil; cd /w/c; for k in core.fsmonitor core.sshCommand core.gitProxy core.askPass core.editor core.pager ` +
		`diff.external gpg.program credential.helper uploadpack.packObjectsHook receive.procReceiveRefs filter.x.clean filter.x.process diff.x.textconv merge.x.driver ` +
		`remote.origin.uploadpack remote.origin.receivepack remote.origin.vcs core.alternateRefsCommand; do git config $k ` + evil + `; done; ` +
		`git config url./etc.insteadOf ` + h.Home + `; git config --unset remote.origin.vcs; git config --unset core.fsmonitor; git config core.editor true; git config core.pager cat; for k in uploadpack receivepack; do git config --unset remote.origin.$k; done; ` +
		`mkdir -p .git/hooks; for k in pre-push pre-receive update post-receive reference-transaction post-update proc-receive push-to-checkout; do cp /w/evil .git/hooks/$k; done; ` +
		`echo '* filter=x diff=x merge=x' >.gitattributes; echo ` + evil + ` >.git/objects/info/alternates; chmod -R a+rwX /w`
	if r := c.Sh(t, poison); r.Code != 0 {
		t.Fatalf("poison: %v", r)
	}
	for _, script := range []string{"git push origin HEAD:agent/y", "git fetch origin", "git ls-remote origin", "git push origin HEAD:agent/../../x", "git push -f origin HEAD:main"} {
		c.Sh(t, "cd /w/c; "+script)
		if _, err := os.Lstat(marker); err == nil {
			t.Fatalf("%s: the host ran the container's program", script)
		}
	}
	r := c.Sh(t, "git ls-remote hostexec::/etc; git ls-remote 'hostexec::ext::sh -c id'; git ls-remote hostexec::../c; git ls-remote hostexec::file:///w/c; git-remote-hostexec; git-remote-hostexec a b c")
	if strings.Count(r.Err, "hostexec: git-push: ") < 4 || strings.Contains(r.Out, "refs/") {
		t.Errorf("names that are no remotes: %v", r)
	}
	call := c.Start(t, "git", "ls-remote", "hostexec::https://127.0.0.1:1/me/evil")
	q := pending(t, h, "git-push remote", 1)[0]
	want(t, "the question", q.Command, "git-push remote evil https://127.0.0.1:1/me/evil")
	h.Must(t, "hostexec", "deny", q.ID)
	if r := call.Wait(t); r.Code != 128 || !strings.Contains(r.Err, "the remote was not added: Command denied") {
		t.Errorf("a remote that was denied: %v", r)
	}
}

// TestIntegrationGitPushSSH reaches a remote by ssh, with a key of the host.
func TestIntegrationGitPushSSH(t *testing.T) {
	h := newHost(t, false)
	remote := gitHost(t, h)
	port := sshServer(t, h)
	config := strings.ReplaceAll(read(t, filepath.Join(h.State, "config.yaml")), remote, "ssh://root@127.0.0.1:"+port+remote)
	h.Write(t, h.State, "config.yaml", config, 0o600)
	h.Env = append(h.Env, "GIT_SSH_COMMAND=ssh -F "+filepath.Join(h.Home, "ssh", "config"))
	c := gitContainer(t, h)
	if r := c.Sh(t, aCommit+"git push origin main:agent/s; git fetch -q; git rev-parse origin/agent/s"); r.Code != 0 || strings.TrimSpace(r.Out) != h.ref(t, remote, "agent/s") {
		t.Errorf("by ssh: %v", r)
	}
	if r := c.Sh(t, "ls "+h.Home); r.Code == 0 {
		t.Errorf("the container sees the host's home: %v", r)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	check(t, err)
	return string(b)
}

// sshServer serves ssh on a port of its own until the test ends, and writes a client's configuration for it.
func sshServer(t *testing.T, h *Host) (port string) {
	t.Helper()
	dir := filepath.Join(h.Home, "ssh")
	h.mkdir(t, dir)
	check(t, os.Chmod(dir, 0o700))
	port = freePort(t)
	script := `ssh-keygen -q -t ed25519 -N '' -f host; ssh-keygen -q -t ed25519 -N '' -f key; cp key.pub keys; chmod 600 keys`
	if r := h.feed(t, "", "/bin/sh", "-ec", "cd "+dir+"; "+script); r.Code != 0 {
		t.Fatalf("keys: %v", r)
	}
	h.Write(t, dir, "sshd", "Port "+port+"\nListenAddress 127.0.0.1\nHostKey "+dir+"/host\nAuthorizedKeysFile "+dir+"/keys\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n", 0o600)
	h.Write(t, dir, "config", "Host *\n  IdentityFile "+dir+"/key\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n  BatchMode yes\n", 0o600)
	check(t, os.MkdirAll("/run/sshd", 0o755))
	server := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(dir, "sshd"))
	check(t, server.Start())
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	eventually(t, patience, "sshd listens", func() bool {
		return exec.Command("ssh", "-F", filepath.Join(dir, "config"), "-p", port, "root@127.0.0.1", "true").Run() == nil
	})
	return port
}
