// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// Attacks on what a command starts with, on the host's own files, and on the record.

// TestIntegrationAttackEnvironment is a shim that lies about its environment: names twice,
// none, and in ways that no shell would send.
//
// Attacks 73, 74, 75, 76, 77, 78, 79.
func TestIntegrationAttackEnvironment(t *testing.T) {
	h := dockerUsers(t)[0]
	c := h.Shared(t, "socket")
	env := []string{
		"LD_PRELOAD=/evil", "LD_AUDIT=/evil", "BASH_ENV=/evil", "PERL5OPT=-Mevil", "PYTHONPATH=/evil", "NODE_OPTIONS=--require=/evil", "GIT_SSH_COMMAND=evil", "GIT_EXTERNAL_DIFF=evil",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.evil", "GIT_CONFIG_VALUE_0=evil", "GIT_CONFIG_PARAMETERS='a=evil'", "GIT_TRACE=/evil", "MAKEFILES=/evil", "TAR_OPTIONS=--evil", "LESSOPEN=|evil",
		"GOFLAGS=-toolexec=evil", "npm_config_script_shell=evil", "DOCKER_CONFIG=/evil", "DOCKER_HOST=evil", "PAGER=evil", "EDITOR=evil", "BROWSER=evil", "HTTPS_PROXY=evil", "SSL_CERT_FILE=/evil",
		"KUBECONFIG=/evil", "AWS_ENDPOINT_URL=evil", "PATH=/evil", "HOME=/evil", "XDG_CONFIG_HOME=/evil", "TMPDIR=/evil", "SHELL=/evil", "TERM=../../evil", "TERMINFO=/evil", "TZ=:/evil", "LANG=/evil",
		"LC_ALL=/evil", "LOCPATH=/evil", "PWD=/evil", "OLDPWD=/evil", "IFS=evil", "PS4=$(evil)", "SHELLOPTS=xtrace", "BASH_FUNC_ls%%=() { evil; }", "COLUMNS=80\nEVIL=evil", "NO_COLOR=\x1bevil", "=evil", "evil", "",
		"TERM=evil/..", "LINES=1evil", "HOSTEXEC_HOME=/evil", "HOSTEXEC_REQUEST_ID=evil", "HOSTEXEC_DIR=/evil", "DOCKER_CLI_PLUGIN_ORIGINAL_CLI_COMMAND=/evil", "COLUMNS=80", "COLUMNS=99", "TERM=xterm", "TERM=dumb",
	}
	reply := c.Feed(t, hex.EncodeToString(request(func(m *wire.Exec) { m.Args, m.Env = []string{"hp", "report"}, env }))+"\n", "/probe", "send", "-")
	frames, err := hex.DecodeString(strings.TrimSpace(reply.Out))
	check(t, err)
	var out []byte
	for in := bytes.NewReader(frames); in.Len() > 0; {
		kind, p, err := wire.ReadFrame(in, nil)
		check(t, err)
		if kind == wire.KindStdout {
			out = append(out, p...)
		}
	}
	var self struct{ Env []string }
	if err := json.Unmarshal(out, &self); err != nil {
		t.Fatalf("%v: %q, %v", err, out, reply)
	}
	names := map[string]int{}
	for _, kv := range self.Env {
		name, _, ok := strings.Cut(kv, "=")
		names[name]++
		if strings.Contains(kv, "evil") || !ok || name == "" || names[name] > 1 {
			t.Errorf("the command has %q", kv)
		}
	}
	for _, kv := range []string{"COLUMNS=80", "TERM=xterm", "HOME=" + h.Home, "PWD=" + h.Work} {
		if !slices.Contains(self.Env, kv) {
			t.Errorf("%s is missing in %q", kv, self.Env)
		}
	}
}

// TestIntegrationAttackMounts mounts the state into a container through links.
//
// Attacks 62, 119.
func TestIntegrationAttackMounts(t *testing.T) {
	h, canary := hostWithCanary(t)
	h.Write(t, h.Work, "config.yaml", "version: 1\n", 0o600)
	h.mkdir(t, filepath.Join(h.Work, "bin"))
	h.mkdir(t, filepath.Join(h.State, "projects"))
	check(t, os.Symlink("/bin/true", filepath.Join(h.Work, "bin", "tool")))
	check(t, os.Symlink("work/bin", filepath.Join(h.Home, "bin")))
	config, project := filepath.Join(h.State, "config.yaml"), filepath.Join(h.State, "projects", "work.yaml")
	h.refuses(t, badInput{args: "-v {WORK}:/w --proxy tool={HOME}/bin/tool {IMAGE}", says: `could change \S+/bin/tool, which --proxy tool runs`})
	for _, file := range []string{config, project} {
		check(t, os.Symlink(filepath.Join(h.Work, "config.yaml"), file))
		h.refuses(t, badInput{args: "-v {WORK}:/w --proxy true {IMAGE}", says: `could change \S+\.yaml, which says what it may run`})
		check(t, os.Remove(file))
	}
	if r := h.Run(t, "--rm", "-v", h.Work+":/w", "-w", "/w", "--proxy", "hsh=/bin/sh", image(t, "busybox"), "hsh", "-c", "cat "+canary); r.Out != "sings\n" {
		t.Errorf("without links: %v", r)
	}
}

// TestIntegrationAttackVolume mounts the state into a container through volumes that are made of
// host directories or of its disk.
//
// Attack 194.
func TestIntegrationAttackVolume(t *testing.T) {
	h, canary := hostWithCanary(t)
	tool := h.Write(t, h.Work, "tool", "#!/bin/sh\ncat "+canary+"\n", 0o755)
	const state = "covers hostexec's own state"
	for i, tt := range []struct{ typ, o, device, says string }{
		{"none", "bind", h.Home, state},
		{"none", "bind", h.Work, "which --proxy tool runs"},
		{"none", "bind", h.Home[1:], state}, // from where the engine is
		{"tmpfs", "rbind", h.Home, state},   // which is no tmpfs
		{"overlay", "lowerdir=" + h.State + ":/usr", "overlay", state},
	} {
		name := unique(fmt.Sprint("volume", filepath.Base(h.Home), i))
		h.Must(t, "volume", "create", "-o", "type="+tt.typ, "-o", "o="+tt.o, "-o", "device="+tt.device, name)
		t.Cleanup(func() { h.Must(t, "volume", "rm", "-f", name) })
		h.refuses(t, badInput{args: "-v " + name + ":/w --proxy tool=" + tool + " {IMAGE}", says: tt.says})
	}
}

// TestIntegrationAttackDisk gives a container the disk that holds the state, under any name. Only
// root can name a disk.
//
// Attack 194.
func TestIntegrationAttackDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("only root can name a disk: run the integration tests as root, or leave this one out by name")
	}
	h, _ := hostWithCanary(t)
	var st unix.Stat_t
	check(t, unix.Stat(h.State, &st))
	disk := filepath.Join(h.Home, "disk")
	check(t, unix.Mknod(disk, unix.S_IFBLK|0o600, int(st.Dev)))
	h.refuses(t, badInput{args: "-v " + disk + ":/d --proxy true {IMAGE}", says: "is the disk that hostexec's own state in"})
}

// TestIntegrationAttackRestart has a container replace a directory that it mounts by a link to the state, and start again.
// The second time, the container restores the directory at once. A third container is started again by docker start.
// Each is killed, stays down, and gets no answer in that run.
//
// Attacks 86, 196.
func TestIntegrationAttackRestart(t *testing.T) {
	for name, tt := range map[string]struct{ policy, exit, then string }{
		"left":     {"always", "exit 1", ":"},
		"put back": {"always", "exit 1", "rm /w/sub; mkdir /w/sub"},
		"started":  {"no", "exit 1", ":"},
		"restart":  {"unless-stopped", "exec sleep 1000", "rm /w/sub; mkdir /w/sub"},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := hostWithCanary(t)
			sub := filepath.Join(h.Work, "sub")
			h.mkdir(t, sub)
			c := h.Detached(t, "--restart", tt.policy, "--stop-timeout", "0", "-v", h.Work+":/w", "-v", sub+":/data", "-w", "/w", "--proxy", "hsh=/bin/sh", image(t, "busybox"), "sh", "-c",
				`if ! test -e /w/first; then hsh -c 'echo first' >/w/first 2>&1; rmdir /w/sub; ln -s "$0" /w/sub; eval "$2"; fi
				eval "$1"; hsh -c 'echo second' >/w/second 2>/w/why; exec sleep 1000`, h.State, tt.then, tt.exit)
			switch tt.exit {
			case "exit 1":
				if tt.policy == "no" {
					eventually(t, patience, "the first run is over", func() bool { return c.Inspect(t, "{{.State.Status}}") == "exited" })
					h.Must(t, "start", c.ID)
				}
			default:
				eventually(t, patience, "the directory is a link", func() bool { _, err := os.Readlink(sub); return err == nil })
				h.Must(t, "restart", c.ID)
			}
			eventually(t, patience, "the session says that its container was killed", func() bool {
				return h.Must(t, "hostexec", "status", "--format", "{{.State}}") == "killed\n"
			})
			want(t, "the container", c.Inspect(t, "{{.State.Status}}"), "exited")
			want(t, "its restart policy", c.Inspect(t, "{{.HostConfig.RestartPolicy.Name}}"), "no")
			want(t, "the first run's call", string(readFile(t, filepath.Join(h.Work, "first"))), "first\n")
			if text, err := os.ReadFile(filepath.Join(h.Work, "second")); err == nil {
				want(t, "the second run's call", string(text), "")
			}
			for _, says := range []string{h.Must(t, "hostexec", "logs", c.Session), h.Must(t, "hostexec", "inspect", c.Session), strings.Join(h.Audit(t), "\n")} {
				if !strings.Contains(says, "was killed: ") || !strings.Contains(says, "covers hostexec's own state") {
					t.Errorf("the reason is missing: %s", clip(says))
				}
			}
		})
	}
}

// TestIntegrationAttackForgery writes records in arguments: there are as many as there were
// calls, and the log is whole.
//
// Attacks 129, 131, 132.
func TestIntegrationAttackForgery(t *testing.T) {
	h, _ := hostWithCanary(t)
	c := h.Holding(t, "--proxy", "htrue="+find(t, "true"))
	first := h.Audit(t)
	for _, arg := range []string{
		"\n2026-01-01T00:00:00Z HOSTEXEC APPROVE project=x branch=x cloister=x container=x agent=x cmd=\"rm\" user=root", `" user="root" exit=0 chain=0 seq=1 prev=0`, "\r\x1b[1A", `\`, `\"`, `\xff`, "",
		strings.Repeat("x", 100_000) + "\nHOSTEXEC APPROVE", "rule=allow", "\u2028HOSTEXEC APPROVE\u0085",
	} {
		want(t, "code", c.Exec(t, "htrue", arg).Code, 0)
	}
	want(t, "code", c.Sh(t, `htrue $'\xff'; htrue $'\xfe'`).Code, 0) // which docker exec would not pass on
	lines := h.Audit(t)[len(first):]
	want(t, "records", len(lines), 3*12) // AUTO_APPROVE, START, COMPLETE
	seen := map[string]bool{}
	for _, line := range lines {
		fields := strings.Fields(line)
		if fields[1] != "HOSTEXEC" || !slices.Contains([]string{"AUTO_APPROVE", "START", "COMPLETE"}, fields[2]) || len(line) > 1<<16 {
			t.Errorf("a record of %d bytes: %s", len(line), clip(line))
		}
		if _, cmd, ok := strings.Cut(line, ` cmd=`); ok && fields[2] == "START" {
			cmd, _, _ = strings.Cut(cmd, " request=")
			if seen[cmd] {
				t.Errorf("two calls look alike: %s", clip(cmd))
			}
			seen[cmd] = true
		}
	}
	if r := h.Docker(t, "hostexec", "audit", "verify"); r.Code != 0 {
		t.Errorf("verify: %v", r)
	}
	want(t, "approvals", strings.Count(h.Must(t, "hostexec", "audit", "--filter", "event=APPROVE", "--format", "json"), "\n"), 0)
}

// TestIntegrationAttackDiskFull fills the disk that holds the audit log: no command runs until
// there is space again. It needs root to make such a disk.
//
// Attack 133.
func TestIntegrationAttackDiskFull(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("a small file system can only be mounted by root: run the integration tests as root, or leave this one out by name")
	}
	h := newHost(t, true)
	check(t, unix.Mount("tmpfs", h.State, "tmpfs", 0, "size=8m,mode=0700,uid=12345,gid=12345"))
	t.Cleanup(func() { check(t, unix.Unmount(h.State, unix.MNT_DETACH)) })
	h.Write(t, h.State, "config.yaml", "version: 1\napproval: {wait: always}\n", 0o600)
	c := h.Holding(t, "--proxy", "hsh=/bin/sh", "--proxy", "hask=ask,path=/bin/sh")
	want(t, "before", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	ballast := filepath.Join(h.State, "ballast")
	f, err := os.Create(ballast)
	check(t, err)
	for chunk := make([]byte, 4096); err == nil; _, err = f.Write(chunk) {
	}
	f.Close()
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	marker := filepath.Join(h.Work, "marker")
	for range 50 { // the log's last block may have room for some
		c.Sh(t, `hsh -c : "$1" 2>/dev/null`, strings.Repeat("x", 4000))
		if c.Exec(t, "hsh", "-c", ":").Code == 125 {
			break
		}
	}
	for _, name := range []string{"hsh", "hask"} {
		r := c.Exec(t, "timeout", "10", name, "-c", "echo RAN > "+marker+"; echo RAN", strings.Repeat("x", 4096))
		if r.Code != 125 || r.Out != "" || !strings.Contains(r.Err, "the audit log cannot be written") {
			t.Errorf("%s: %v", name, r)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("it ran, and there is no record of it")
	}
	check(t, os.Remove(ballast))
	want(t, "after", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	if r := h.Docker(t, "hostexec", "audit", "verify"); r.Code != 0 {
		t.Errorf("verify: %v", r)
	}
}

// TestIntegrationAttackHTTPJob starts a job and a shell over HTTP in each way in which a request
// can name one. None starts, and the answer is 400.
//
// Attack 220.
func TestIntegrationAttackHTTPJob(t *testing.T) {
	h := newHost(t, false)
	c := h.Holding(t, "--http", "--proxy", "hsh=/bin/sh", "--proxy-shell=allow")
	address, header := c.httpAddress(t)
	for _, body := range []string{
		`{"cmd": "hostexec -d hsh -c 'echo >ran'"}`, `{"args": ["hostexec", "-d", "hsh", "-c", "echo >ran"]}`,
		`{"args": ["/run/hostexec/bin/hostexec", "--detach", "--", "hsh", "-c", "echo >ran"]}`, `{"args": ["hostexec", "--timeout=5s", "-d", "hsh", "-c", "echo >ran"]}`,
		`{"cmd": "\"host\"exec '-d' hsh -c 'echo >ran'"}`, `{"args": ["../hostexec", "--detach=true", "--keep", "hsh", "-c", "echo >ran"]}`,
		`{"args": ["hostexec", "session", "exec", "x", "echo >ran"]}`, `{"args": ["hostexec", "session", "create", "x"]}`,
		`{"args": ["hostexec", "ps"]}`, `{"args": ["hostexec", "kill", "--all"]}`, `{"args": ["hostexec", "logs", "0"]}`, `{"args": ["hostexec", "wait", "0"]}`,
	} {
		got := c.post(t, address, header, body)
		if got.HTTP != 400 || got.Status != "error" || !strings.HasSuffix(got.Reason, " over HTTP") {
			t.Errorf("%s: %v", body, got)
		}
	}
	want(t, "jobs", c.Exec(t, "hostexec", "ps", "--json").Out, "[]\n")
	want(t, "shells", strings.Count(h.Must(t, "hostexec", "shell", "ls"), "\n"), 1)
	want(t, "what ran", c.Sh(t, "ls /w/ran 2>/dev/null").Out, "")
	want(t, "what may be called", c.post(t, address, header, `{"cmd": "hostexec ls"}`).HTTP, 200)
	want(t, "a call", c.post(t, address, header, `{"cmd": "hostexec -- hsh -c 'exit 3'"}`).String(), `200 auto_approved "--proxy hsh" "" 3 "" ""`)
}
