// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestIntegrationVerbs runs the verbs of hostexec in a container.
func TestIntegrationVerbs(t *testing.T) {
	tests := []struct {
		name, script string
		out          string // what stdout begins with
		code         int
	}{
		{"a command", `hostexec hsh -c 'echo called'`, "called\n", 0},
		{"its code", `hostexec hsh -c 'exit 9'`, "", 9},
		{"its stdin", `echo in | hostexec hcat`, "in\n", 0},
		{"a command named like a word", `hostexec -- hsh -c 'echo called'`, "called\n", 0},
		{"ls", `hostexec ls`, "COMMAND", 0},
		{"ls into a pipe", `hostexec ls | grep -c banned`, "1\n", 0},
		{"ls into a file", `hostexec ls >/tmp/$$; head -c 7 /tmp/$$; rm /tmp/$$`, "COMMAND", 0},
		{"ps", `hostexec ps`, "REQUEST", 0},
		{"help", `hostexec --help`, "Usage: hostexec", 0},
		{"version", `hostexec --version`, "hostexec version ", 0},
		{"nothing", `hostexec`, "", 1},
		{"nothing after --", `hostexec --`, "", 125},
		{"an unknown flag", `hostexec --nonsense`, "", 125},
		{"too much for ls", `hostexec ls --json more`, "", 125},
	}
	forEachUser(t, func(t *testing.T, c *Container) {
		for _, tt := range tests {
			r := c.Sh(t, tt.script)
			if !strings.HasPrefix(r.Out, tt.out) || r.Code != tt.code {
				t.Errorf("%s: %v\nwant code %d, stdout %q...", tt.name, r, tt.code, tt.out)
			}
			if tt.code == 1 || tt.code == 125 {
				want(t, tt.name+": lines of stderr", strings.Count(r.Err, "\n"), 1)
			}
		}
	})
}

// TestIntegrationList reads the list of commands, as an agent does, and the list of calls.
func TestIntegrationList(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		var list []struct{ Name, Action string }
		c.ExecJSON(t, &list, "hostexec", "ls", "--json")
		got := map[string]string{}
		for _, e := range list {
			got[e.Name] = e.Action
		}
		want(t, "hsh", got["hsh"], "allow")
		want(t, "banned", got["banned"], "deny")
		call := c.Start(t, "hp", "pid", "eof")
		call.Host(t)
		// It is noted when it has been started: it may have said so itself by then.
		eventually(t, soon, "hostexec ps shows it", func() bool { return lineWith(c.Exec(t, "hostexec", "ps").Out, "hp pid eof") != "" })
		call.Wait(t)
	})
}

// TestIntegrationDeniedByEveryName denies a command under every name and by every way to call it.
//
// Attack 46.
func TestIntegrationDeniedByEveryName(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		for _, script := range []string{
			`banned`, `hostexec banned`, `hostexec -- banned`, `/run/hostexec/bin/banned`, `/run/hostexec/bin/hostexec banned`,
			`exec -a banned /run/hostexec/bin/hostexec`, `exec -a /bin/banned /run/hostexec/bin/hsh`,
		} {
			want(t, script, c.Sh(t, script).Code, 126)
		}
		// The name decides, not the file: what is called as hsh is hsh.
		want(t, "as hsh", c.Sh(t, `exec -a hsh /run/hostexec/bin/banned -c 'echo hsh'`).Out, "hsh\n")
	})
}

// TestIntegrationEnvironment checks that a command has the host's environment with the caller's
// terminal, and nothing else of the container.
//
// Attack 73.
func TestIntegrationEnvironment(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		r := c.Sh(t, `export TERM=screen COLUMNS=77 LINES=11 NO_COLOR=1 LD_PRELOAD= MAKEFLAGS=-n GIT_DIR=/x HTTP_PROXY=http://x; hsh -c env`)
		env := strings.Split(r.Out, "\n")
		for _, kv := range []string{"TERM=screen", "COLUMNS=77", "LINES=11", "NO_COLOR=1", "HOST_SECRET=of the host", "HOME=" + c.Host.Home, "PWD=" + c.Host.Work} {
			if !slices.Contains(env, kv) {
				t.Errorf("%s is missing: %v", kv, env)
			}
		}
		for _, name := range []string{"CONTAINER_SECRET", "MAKEFLAGS", "GIT_DIR", "HTTP_PROXY", "HOSTNAME", "HOSTEXEC_HOME", "DOCKER_CLI_PLUGIN", "LD_PRELOAD"} {
			if strings.Contains(r.Out, name) {
				t.Errorf("%s came through", name)
			}
		}
		if r := c.Sh(t, `TERM=../../etc/x COLUMNS=9999999 NO_COLOR=$'a\nb' hsh -c env`); strings.Contains(r.Out, "etc/x") || strings.Contains(r.Out, "9999999") {
			t.Errorf("what is no terminal came through: %s", r.Out)
		}
	})
}

// TestIntegrationPassEnv passes the named variables, and no others.
func TestIntegrationPassEnv(t *testing.T) {
	for _, h := range dockerUsers(t) {
		r := h.Run(t, "--rm", "--proxy", "hsh=/bin/sh", "--pass-env", "ONE", "--pass-env", "TWO", "-e", "ONE=1", "-e", "TWO=a b\tc", "-e", "THREE=3",
			image(t, "busybox"), "hsh", "-c", `echo "$ONE $TWO [$THREE]"`)
		want(t, "values", r.Out+r.Err, "1 a b\tc []\n")
		r = h.Run(t, "--rm", "--proxy", "hsh=/bin/sh", "--pass-env", "ONE", "-e", "ONE=1", image(t, "busybox"), "sh", "-c",
			`hostexec --env ONE=2 hsh -c 'echo "$ONE"'; hostexec --env TWO=3 hsh -c 'echo never'`)
		want(t, "--env", fmt.Sprint(r.Code, " ", r.Out), "126 2\n")
		if says := "hostexec: --env: the host does not accept TWO: docker hostexec run --pass-env NAME on the host accepts NAME\n"; r.Err != says {
			t.Errorf("stderr is %q, want %q", r.Err, says)
		}
	}
}

// TestIntegrationProcess checks that a command has the user's identity, session, umask and limits,
// three descriptors, and no new privileges.
//
// Attacks 24, 81, 97, 102, 128, 155.
func TestIntegrationProcess(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		var fds []struct{ N int }
		c.ExecJSON(t, &fds, "hp", "fds")
		want(t, "descriptors", len(fds), 3)
		var self struct {
			PID, SID, PGID, UID int
			Cwd, Argv0          string
			Env                 []string
		}
		c.ExecJSON(t, &self, "hp", "report")
		uid := 0
		if c.Host.cred != nil {
			uid = int(c.Host.cred.Uid)
		}
		want(t, "uid", self.UID, uid)
		want(t, "session", self.SID, self.PID)
		want(t, "argv[0]", self.Argv0, "hp")
		want(t, "cwd", self.Cwd, c.Host.Work)
		st := c.Exec(t, "hcat", "/proc/self/status").Out
		for _, field := range []string{"NoNewPrivs:\t1", "Umask:\t" + status(os.Getpid(), "Umask")} {
			if !strings.Contains(st, field+"\n") {
				t.Errorf("%s is not in\n%s", field, st)
			}
		}
	})
}

// TestIntegrationNewPrivs lets commands gain privileges when the user permits it.
func TestIntegrationNewPrivs(t *testing.T) {
	for _, h := range dockerUsers(t) {
		r := h.Run(t, "--rm", "--allow-new-privs", "--proxy", "hcat="+find(t, "cat"), image(t, "busybox"), "hcat", "/proc/self/status")
		want(t, "NoNewPrivs", lineWith(r.Out, "NoNewPrivs"), "NoNewPrivs:\t0")
	}
}

// TestIntegrationWorkdir maps working directories through the mounts.
//
// Attack 85.
func TestIntegrationWorkdir(t *testing.T) {
	for _, ordinary := range []bool{false, true} {
		h := newHost(t, ordinary)
		t.Run(h.Name, func(t *testing.T) {
			for _, d := range []string{"sub", "sub/dir with space", "inner"} {
				h.mkdir(t, filepath.Join(h.Work, d))
			}
			check(t, os.Symlink("/etc", filepath.Join(h.Work, "evil")))
			check(t, os.Symlink("sub", filepath.Join(h.Work, "link")))
			file := h.Write(t, h.Work, "file", "", 0o644)
			c := h.Holding(t, "--proxy", "hsh=/bin/sh", "-v", h.Work+"/inner:/w/nested", "--tmpfs", "/w/tmp", "-v", file+":/w/single", "-v", "/other")
			for at, there := range map[string]string{
				"/w": h.Work, "/w/sub": h.Work + "/sub", "/w/sub/dir with space": h.Work + "/sub/dir with space",
				"/w/nested": h.Work + "/inner", "/w/link": h.Work + "/sub",
			} {
				r := c.Sh(t, `cd "$1" && hsh -c 'pwd -P'`, at)
				want(t, at, r.Out+r.Err, there+"\n")
			}
			for _, at := range []string{"/", "/tmp", "/w/tmp", "/other", "/run/hostexec", "/run/hostexec/bin", "/proc"} {
				r := c.Sh(t, `cd "$1" && hsh -c 'pwd -P'`, at)
				want(t, at+": code", r.Code, 126)
				if !strings.Contains(r.Err, "workdir mismatch") || strings.Count(r.Err, "\n") != 1 {
					t.Errorf("%s: %v", at, r)
				}
			}
			deletedWorkdir(t, c)
		})
	}
}

// deletedWorkdir calls from a directory that is not there any more.
func deletedWorkdir(t *testing.T, c *Container) {
	t.Helper()
	r := c.Sh(t, `mkdir -p /w/gone && cd /w/gone && rmdir /w/gone && hsh -c pwd`)
	want(t, "a deleted directory: code", r.Code, 126)
	want(t, "a deleted directory: lines", strings.Count(r.Err, "\n"), 1)
}

// TestIntegrationWorkspace mounts where the person is, at the same path, and works there.
func TestIntegrationWorkspace(t *testing.T) {
	for _, h := range dockerUsers(t) {
		r := h.Run(t, "--rm", "--workspace", "--proxy", "hsh=/bin/sh", image(t, "busybox"), "sh", "-c", "pwd; hsh -c 'pwd -P'")
		want(t, "--workspace", r.Out+r.Err, h.Work+"\n"+h.Work+"\n")
		h.mkdir(t, h.Work+"/deep")
		r = h.Run(t, "--rm", "--workspace=deep", "--proxy", "hsh=/bin/sh", image(t, "busybox"), "sh", "-c", "pwd; hsh -c 'pwd -P'")
		want(t, "--workspace=deep", r.Out+r.Err, h.Work+"/deep\n"+h.Work+"/deep\n")
		// No mount at all: where run was typed stands for the container's own directory, and no other.
		r = h.Run(t, "--rm", "-w", "/srv", "--proxy", "hsh=/bin/sh", image(t, "busybox"), "sh", "-c",
			"hsh -c 'pwd -P'; for d in / /tmp; do cd $d; hsh -c 'pwd -P'; echo $?; done; mkdir x; cd x; rmdir ../x; hsh -c 'pwd -P'; echo $?")
		want(t, "no mount at all", r.Out, h.Work+"\n126\n126\n126\n")
		for _, says := range []string{"/tmp is not mounted from the host", "--workdir-host", "the current directory was deleted"} {
			if !strings.Contains(r.Err, says) {
				t.Errorf("no mount at all: %q, want %q", r.Err, says)
			}
		}
		r = h.Run(t, "--rm", "--workdir-host", h.Home, "--proxy", "hsh=/bin/sh", image(t, "busybox"), "sh", "-c", "cd /tmp; hsh -c 'pwd -P'")
		want(t, "--workdir-host", r.Out+r.Err, h.Home+"\n")
	}
}

// marked is a word for the audit log that no other test writes there, nor this one when it
// runs again.
func marked(t *testing.T) string {
	return strings.ReplaceAll(t.Name(), "/", "-") + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
}

// TestIntegrationAudit checks the records AUTO_APPROVE, START and COMPLETE of commands that ran,
// and DENY of others. The first two exist while the command still runs.
func TestIntegrationAudit(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		mark := marked(t)
		call := c.Start(t, "hsh", "-c", "echo $$; read x; exit 3", mark)
		call.Host(t)
		want(t, "lines while it runs", len(c.Host.Audit(t, mark)), 2)
		want(t, "AUTO_APPROVE lines", len(c.Host.Audit(t, mark, "HOSTEXEC AUTO_APPROVE", `pattern="--proxy hsh"`)), 1)
		want(t, "START lines while it runs", len(c.Host.Audit(t, mark, "HOSTEXEC START")), 1)
		want(t, "code", call.Wait(t).Code, 3)
		lines := c.Host.Audit(t, mark)
		want(t, "lines", len(lines), 3)
		want(t, "COMPLETE lines", len(c.Host.Audit(t, mark, "HOSTEXEC COMPLETE", "exit=3 duration=")), 1)
		c.Exec(t, "banned", mark)
		want(t, "DENY lines", len(c.Host.Audit(t, mark, "HOSTEXEC DENY", "reason=")), 1)
		c.Exec(t, "hp", "args", mark+"\n\x1b[2J\xff")
		for _, line := range c.Host.Audit(t, mark) {
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("not printable ASCII: %q", line)
			}
		}
	})
}

// TestIntegrationAuditOfKilledCaller kills a caller: COMPLETE must still be recorded.
func TestIntegrationAuditOfKilledCaller(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		mark := marked(t)
		call := c.Start(t, "hsh", "-c", "echo $$; exec sleep 1000", mark)
		call.Host(t)
		call.Signal(t, "KILL")
		eventually(t, soon, "COMPLETE is written", func() bool { return len(c.Host.Audit(t, mark, "HOSTEXEC COMPLETE")) == 1 })
	})
}

// TestIntegrationPrivateState checks that other users cannot read the state. The mount opens only
// the share, and only to the container.
//
// Attack 126.
func TestIntegrationPrivateState(t *testing.T) {
	for _, h := range dockerUsers(t) {
		c := h.Shared(t, "socket")
		dir := filepath.Join(h.State, "sessions", c.Session)
		for path, mode := range map[string]os.FileMode{
			h.State: 0o700, h.State + "/sessions": 0o700, dir: 0o700, dir + "/session.json": 0o600, dir + "/control.sock": 0o600, h.State + "/audit.log": 0o600,
		} {
			fi, err := os.Stat(path)
			if err != nil {
				t.Error(err)
				continue
			}
			if fi.Mode().Perm()&^mode != 0 {
				t.Errorf("%s: mode %o, want at most %o", path, fi.Mode().Perm(), mode)
			}
		}
		b := readFile(t, dir+"/session.json")
		var rec map[string]any
		check(t, json.Unmarshal(b, &rec))
		if strings.Contains(string(b), "of the host") || strings.Contains(string(b), "of the container") {
			t.Errorf("the record holds an environment: %s", b)
		}
	}
}
