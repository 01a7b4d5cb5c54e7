// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Attacks on the containers that commands run in: by their callers, and from within.

// TestIntegrationWhereHiddenMounts gives the caller less than a directory: a part of it read-only,
// others under a volume, a file and a tmpfs. A call container has no more of it.
//
// Attack 201.
func TestIntegrationWhereHiddenMounts(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			h = newHost(t, h.cred != nil)
			for _, d := range []string{".git", "vol", "vol/in", "tmp"} {
				h.mkdir(t, filepath.Join(h.Work, d))
				h.Write(t, filepath.Join(h.Work, d), "secret", "secret\n", 0o644)
			}
			h.Write(t, h.Work, ".env", "secret\n", 0o644)
			lent := filepath.Join(h.Home, "lent")
			h.mkdir(t, lent)
			h.Write(t, lent, "note", "lent\n", 0o644)
			c := h.Holding(t, "-v", h.Work+"/.git:/w/.git:ro", "-v", "/w/vol", "-v", "/dev/null:/w/.env", "--tmpfs", "/w/tmp", "-v", lent+":/w/vol/in",
				"--proxy", "csh=/bin/sh,where=container:"+image(t, "full"))
			sh := func(script string) string { return c.Exec(t, "csh", "-c", script+" 2>/dev/null; echo $?").Out }
			want(t, "read a part that is read-only", sh("cat .git/secret"), "secret\n0\n")
			want(t, "write it", sh("touch .git/hook"), "1\n")
			want(t, "rename it", sh("mv .git old"), "1\n")
			want(t, "what a volume hides", sh("ls -A vol; cat vol/in/note"), "in\nlent\n0\n")
			want(t, "what a tmpfs hides", sh("ls -A tmp"), "0\n")
			want(t, "write there", sh("touch vol/x || touch tmp/x"), "1\n")
			want(t, "what a file hides", sh("cat .env"), "0\n")
			c.wantNoCallContainer(t)
		})
	}
}

// TestIntegrationWhereExchanged replaces the sources of mounts, as another container with a
// directory above them could, and puts a link where one mount lies in another. No command runs in
// what the engine then mounts.
//
// Attack 200.
func TestIntegrationWhereExchanged(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			h = newHost(t, h.cred != nil)
			private, lent := filepath.Join(h.Home, "private"), filepath.Join(h.Home, "lent")
			for _, d := range []string{private, lent, lent + "/a", lent + "/b"} {
				h.mkdir(t, d)
			}
			h.Write(t, private, "secret", "secret\n", 0o644)
			c := h.Holding(t, "-v", lent+"/a:/a", "-v", lent+"/b:/w/b", "--proxy", "csh=/bin/sh,where=container:"+image(t, "full"))
			call := func() Result { return c.Exec(t, "csh", "-c", "cat /a/secret; ls /w/b; echo ran") }
			wantText(t, call().Out, "ran\n")
			refused := func(what string) {
				t.Helper()
				r := call()
				want(t, what+": code", r.Code, 125)
				want(t, what+": stdout", r.Out, "")
				wantText(t, r.Err, "is not what the caller has there")
			}
			check(t, os.Rename(lent+"/a", lent+"/old"))
			check(t, os.Symlink(private, lent+"/a"))
			refused("a link to another directory")
			check(t, os.Remove(lent+"/a"))
			check(t, os.Rename(lent+"/old", lent+"/a"))
			wantText(t, call().Out, "ran\n")
			check(t, os.Rename(h.Work+"/b", h.Work+"/old"))
			check(t, os.Symlink("/bin", h.Work+"/b")) // of the call container
			refused("a link below another mount")
			check(t, os.Remove(h.Work+"/b"))
			check(t, os.Rename(h.Work+"/old", h.Work+"/b"))
			wantText(t, call().Out, "ran\n")
			c.wantNoCallContainer(t)
		})
	}
}

// TestIntegrationWhereEscape runs a command that attacks its container's first process, the host's
// socket, and the directories that it shares with its caller.
//
// Attack 207.
func TestIntegrationWhereEscape(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			c := h.Holding(t, "--proxy", "csh=/bin/sh,where=container:"+image(t, "full"), "--proxy", "cp=/probe,where=container:"+image(t, "full"))
			sh := func(script string) string { return c.Exec(t, "csh", "-c", "exec 2>/dev/null; "+script).Out }
			want(t, "kill the first process", sh("kill -KILL 1; kill -STOP 1; echo alive"), "alive\n")
			want(t, "its descriptors", sh("readlink /proc/1/fd/* /proc/1/exe /proc/1/cwd; cat /proc/1/fd/* /proc/1/environ /proc/1/mem; echo $?"), "1\n")
			want(t, "change what it is", sh("cd /run/hostexec; touch x || rm -f .init || rm -f socket || chmod 777 . || ln .init x || mv .init x || true >.init; echo $?"), "2\n")
			want(t, "start it once more", sh("/run/hostexec/.init; echo $?"), "125\n")
			want(t, "a call of its own", sh("ln -s /run/hostexec/.init /tmp/hostexec; HOSTEXEC_DIR=/run/hostexec /tmp/hostexec csh -c 'echo called'; echo $?"), "125\n")
			want(t, "the caller's session", sh("ls /run/hostexec/bin /run/hostexec/carrier; echo $?"), "2\n")
			want(t, "code of one that ends its container", c.Exec(t, "csh", "-c", "kill -QUIT 1; exec sleep 1000").Code, 137)
			want(t, "a call after it", sh("echo out"), "out\n")
			c.wantNoCallContainer(t)
		})
	}
}

// TestIntegrationWhereFlood makes more calls at once than a session has containers: the rest
// waits, and has its turn when others have gone.
//
// Attack 203.
func TestIntegrationWhereFlood(t *testing.T) {
	const most, calls = 64, 70
	h := newHost(t, false)
	c := h.Holding(t, "--proxy", "cp=/probe,where=container:"+image(t, "empty")+",network=none")
	call := c.Start(t, "bash", "-c", `for i in {1..70}; do cp hold & done; echo all; wait; echo over`)
	want(t, "line", call.Line(t), "all")
	eventually(t, 4*patience, "all calls have begun", func() bool { return len(h.Audit(t, "HOSTEXEC START")) == calls })
	// They have to run: of one that it is still making, and lists already, an engine may say that there is none,
	// and leave it, which docker rm -f takes for success.
	eventually(t, 4*patience, "so many containers run", func() bool {
		return len(strings.Fields(h.Must(t, "ps", "-q", "--filter", "label=io.hostexec.call="+c.Session))) == most
	})
	first := c.callContainers(t)
	h.Must(t, append([]string{"rm", "-f"}, first[:calls-most]...)...)
	eventually(t, 4*patience, "those that waited have theirs", func() bool {
		now := c.callContainers(t)
		return len(now) == most && !slices.Contains(now, first[0])
	})
	// The last few end at once. An engine before 23.0 can deadlock when all of them do (moby/moby#42545).
	h.Must(t, append([]string{"rm", "-f"}, c.callContainers(t)[8:]...)...)
	h.Must(t, "rm", "-f", c.ID)
	call.Ended(t)
	eventually(t, 4*patience, "no call container is left", func() bool { return len(c.callContainers(t)) == 0 })
}

// TestIntegrationWhereUser makes files as a person with a strict umask and further groups
// would: with the modes, and in the places, that they could make them in themselves.
func TestIntegrationWhereUser(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			h = newHost(t, h.cred != nil)
			args := append([]string{"-c", `umask 027; exec docker "$@"`, "sh"}, h.runArgs(append([]string{"-d"}, h.holding(t, places(t))...)...)...)
			r := h.feed(t, "", "sh", args...)
			want(t, "code of run", r.Code, 0)
			c := &Container{Host: h, ID: strings.TrimSpace(r.Out), User: "0"}
			t.Cleanup(func() { h.Docker(t, "rm", "-f", "-v", c.ID) })
			c.Session = c.Inspect(t, `{{index .Config.Labels "io.hostexec.session"}}`)
			for _, x := range []string{"h", "c"} {
				c.Exec(t, x+"sh", "-c", "echo text >"+x+"; mkdir "+x+".d")
			}
			for what, pair := range map[string][2]string{"a file": {"h", "c"}, "a directory": {"h.d", "c.d"}} {
				on, in := stat(t, filepath.Join(h.Work, pair[0])), stat(t, filepath.Join(h.Work, pair[1]))
				want(t, what, [3]uint32{in.Mode, in.Uid, in.Gid}, [3]uint32{on.Mode, on.Uid, on.Gid})
			}
			on, in := c.Exec(t, "hsh", "-c", "umask; id -u; id -g; id -G").Out, c.Exec(t, "csh", "-c", "umask; id -u; id -g; id -G").Out
			want(t, "umask and ids", in, on)
			wantText(t, in, "0027\n")
			c.wantNoCallContainer(t)
		})
	}
}

func stat(t testing.TB, path string) *syscall.Stat_t {
	t.Helper()
	fi, err := os.Stat(path)
	check(t, err)
	return fi.Sys().(*syscall.Stat_t)
}
