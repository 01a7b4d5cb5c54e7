// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runsProxy runs docker hostexec proxy to its end, which is soon.
func (h *Host) runsProxy(t testing.TB, args ...string) Result {
	t.Helper()
	h.keepsWork(t)
	return h.feed(t, "", pluginPath(t), append([]string{"proxy"}, args...)...)
}

// TestIntegrationProxyLife starts a proxy and refuses a second one. Nothing is left at the end.
func TestIntegrationProxyLife(t *testing.T) {
	for _, ordinary := range userKinds() {
		h := newHost(t, ordinary)
		t.Run(h.Name, func(t *testing.T) {
			p := h.Proxy(t, "make")
			want(t, "what it says first", strings.Join(p.Lines, "\n"),
				"[proxy] Listening for 'make' commands...\n[proxy] Container script: .hostexec/proxy/make/make")
			pid := atoi(t, string(readFile(t, h.At("make")+"/make.pid")))
			watcher := hold(t, pid)
			fi, err := os.Stat(h.Client("make"))
			check(t, err)
			want(t, "the client's mode", fi.Mode(), 0o700)
			fi, err = os.Stat(h.At("make"))
			check(t, err)
			want(t, "the directory's mode", fi.Mode(), os.ModeDir|0o700)

			r := h.runsProxy(t, "make")
			want(t, "a second one", r.String(), Result{Code: 1, Err: "hostexec: proxy for 'make' already running (PID " + strconv.Itoa(pid) + ")\n"}.String())
			row := h.Must(t, "hostexec", "status", "--format", "{{.Container}} {{.Commands}} {{.Carrier}} {{.State}}")
			want(t, "status", row, filepath.Join(h.Work, ".hostexec/proxy")+" make files running\n")

			want(t, "its code", p.Stop(t, syscall.SIGTERM), 0)
			watcher.Ends(t, patience)
			left, err := os.ReadDir(h.At("make"))
			check(t, err)
			want(t, "files left", len(left), 0)
			want(t, "what it says last", p.errs.String(), "")
			h.quiet(t, soon)
			h.Proxy(t, "make").Stop(t, syscall.SIGINT)
		})
	}
}

// TestIntegrationProxyStale starts with lock files of processes that have ended, that were never
// proxies, and that another user wrote.
//
// Attack 23.
func TestIntegrationProxyStale(t *testing.T) {
	h := newHost(t, false)
	for _, tt := range []struct{ name, pid, says string }{
		{"dead", "4194999\n", "hostexec: removing stale PID file (PID 4194999 no longer running)\n"},
		{"another process", "1\n", "hostexec: removing stale PID file (PID 1 is another process)\n"},
		{"no number", "x\x1b[2J\n", ""},
		{"a number too long", strings.Repeat("1", 100), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check(t, os.MkdirAll(h.At("make"), 0o700))
			check(t, os.WriteFile(h.At("make")+"/make.pid", []byte(tt.pid), 0o644))
			p := h.Proxy(t, "make")
			if text := string(readFile(t, h.At("make")+"/make.pid")); text == tt.pid {
				t.Errorf("make.pid still has %q", text)
			}
			p.Stop(t, syscall.SIGTERM)
			want(t, "what it says", p.errs.String(), tt.says) // all of which has come by now
		})
	}
}

// TestIntegrationProxyWaiting serves a request that existed before the proxy started.
//
// Attack 150.
func TestIntegrationProxyWaiting(t *testing.T) {
	h := newHost(t, false)
	check(t, os.MkdirAll(h.At("echo"), 0o700))
	for i := range 8 {
		id := "early" + strconv.Itoa(i)
		Submit(t, h.At("echo"), id, "", id)
		p := h.Proxy(t, "echo="+find(t, "echo"))
		want(t, "the answer", Answer(t, h.At("echo"), id).String(), Result{Out: id + "\n"}.String())
		p.Stop(t, syscall.SIGTERM)
	}
}

// TestIntegrationProxySecondState begins a second proxy of a directory, whose locks lie in a
// state directory of its own: it finds the first by its number, and leaves it alone.
//
// Attacks 23, 160.
func TestIntegrationProxySecondState(t *testing.T) {
	h := newHost(t, false)
	h.Proxy(t, "echo="+find(t, "echo"))
	pid := strings.TrimSpace(string(readFile(t, h.At("echo")+"/echo.pid")))
	other := &Host{Name: h.Name, Home: h.Home, State: filepath.Join(h.Home, "other-state"), Work: h.Work, Env: h.Env}
	cmd := other.Command(t.Context(), pluginPath(t), "proxy", "echo="+find(t, "echo"))
	cmd.Env = append(cmd.Env, noEngine)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "proxy for 'echo' already running (PID "+pid+")") {
		t.Errorf("the second: %v, %s", err, out)
	}
	Submit(t, h.At("echo"), "id", "", "still")
	want(t, "the first answers", Answer(t, h.At("echo"), "id").Out, "still\n")
	readFile(t, h.Client("echo"))
}

// TestIntegrationProxyKilled kills the processes of a proxy with SIGKILL. None of its commands
// stays, their callers get an error at once, and the next proxy starts.
func TestIntegrationProxyKilled(t *testing.T) {
	h := newHost(t, false)
	for who, verb := range map[string][]string{
		"watcher": {pluginPath(t), "proxy"}, "proxy": {pluginPath(t), "proxy"}, "docker": {"docker", "hostexec", "proxy"},
	} {
		t.Run(who, func(t *testing.T) {
			p := h.proxy(t, verb, "sh=/bin/sh", "--shutdown-grace", "1h")
			began := filepath.Join(h.Work, who)
			Submit(t, h.At("sh"), "a", "", "-c", `echo $$ >"$0.tmp"; mv "$0.tmp" "$0"; exec sleep 1000`, began)
			eventually(t, patience, "the command runs", func() bool { return len(readFile(t, began)) > 0 })
			command := hold(t, atoi(t, string(readFile(t, began))))
			watcher := hold(t, atoi(t, string(readFile(t, h.At("sh")+"/sh.pid"))))
			if who == "watcher" {
				watcher.Signal(t, syscall.SIGKILL)
			} else {
				check(t, p.cmd.Process.Kill())
			}
			p.Ended(t)
			command.Ends(t, patience)
			watcher.Ends(t, patience)
			r := Answer(t, h.At("sh"), "a")
			told := map[bool]string{true: "hostexec: the host's side of this call ", false: "hostexec: the proxy is shutting down: "}[who == "watcher"]
			if r.Code != 125 || !strings.HasPrefix(r.Err, told) {
				t.Errorf("the caller is told %v", r)
			}
			eventually(t, patience, "nothing of the proxy is left", func() bool { return len(processes(h.State)) == 0 })
		})
	}
	h.Proxy(t, "sh=/bin/sh").Stop(t, syscall.SIGTERM)
}

// TestIntegrationProxyGraceful stops a proxy while a command runs: the command may finish, and new
// calls are refused.
func TestIntegrationProxyGraceful(t *testing.T) {
	h := newHost(t, false)
	p := h.Proxy(t, "sh=/bin/sh")
	client := readFile(t, h.Client("sh"))
	Submit(t, h.At("sh"), "slow", "", "-c", "echo >began; until [ -e go ]; do sleep 0.05; done; echo done")
	eventually(t, patience, "the command runs", func() bool { _, err := os.Stat(h.Work + "/began"); return err == nil })
	check(t, p.cmd.Process.Signal(syscall.SIGTERM))
	eventually(t, patience, "the client is gone", func() bool { _, err := os.Stat(h.Client("sh")); return os.IsNotExist(err) })
	Submit(t, h.At("sh"), "late", "", "-c", "echo too late")
	late := Answer(t, h.At("sh"), "late")
	want(t, "a late request", late.String(), Result{Code: 125, Err: "hostexec: the proxy is shutting down\n"}.String())
	check(t, os.WriteFile(h.Work+"/go", nil, 0o644))
	want(t, "the one in flight", Answer(t, h.At("sh"), "slow").String(), Result{Out: "done\n"}.String())
	want(t, "its code", p.Ended(t), 0)

	// Nobody is there now. The client that somebody has kept says so in time.
	kept := h.Write(t, h.Work, "kept", string(client), 0o755)
	h.Env = append(h.Env, "PROXY_TIMEOUT=1")
	r := h.feed(t, "", kept, "-c", "true")
	want(t, "a call of nobody", r.String(), Result{Code: 124, Err: "hostexec: sh: timeout waiting for host to execute command\n"}.String())
	want(t, "files left", strings.Join(protocol(t, h.At("sh")), " "), "")
	h.quiet(t, soon)
}

// TestIntegrationProxyGrace ends a command that exceeds the grace period. A second signal ends it
// at once.
func TestIntegrationProxyGrace(t *testing.T) {
	h := newHost(t, false)
	for _, grace := range []string{"100ms", "1h"} {
		t.Run(grace, func(t *testing.T) {
			p := h.Proxy(t, "sh=/bin/sh", "--shutdown-grace", grace)
			Submit(t, h.At("sh"), "slow", "", "-c", "echo >began; exec sleep 1000")
			eventually(t, patience, "the command runs", func() bool { return os.Remove(h.Work+"/began") == nil })
			watcher := hold(t, atoi(t, string(readFile(t, h.At("sh")+"/sh.pid"))))
			watcher.Signal(t, syscall.SIGTERM)
			if grace == "1h" {
				eventually(t, patience, "the client is gone", func() bool { _, err := os.Stat(h.Client("sh")); return os.IsNotExist(err) })
				watcher.Signal(t, syscall.SIGTERM)
			}
			want(t, "its answer", Answer(t, h.At("sh"), "slow").String(),
				Result{Code: 125, Err: "hostexec: the proxy is shutting down: the command was ended\n"}.String())
			want(t, "its code", p.Ended(t), 0)
		})
	}
}

// TestIntegrationProxyReplaced puts a link, and then a file, in place of the directory of requests of two commands. The
// proxy tells its user once of each, and when the directory is served again. It was silent.
func TestIntegrationProxyReplaced(t *testing.T) {
	h := newHost(t, false)
	p := h.Proxy(t, "echo="+find(t, "echo"), "true="+find(t, "true"))
	top := filepath.Join(h.Work, ".hostexec")
	const next = "hostexec: hint: remove it, or put the directory back: the proxy then serves it again\n"
	var said string
	for found, replace := range map[string]func() error{
		"is a symbolic link": func() error { return os.Symlink(t.TempDir(), top) },
		"is not a directory": func() error { return os.WriteFile(top, nil, 0o600) },
	} {
		check(t, os.RemoveAll(top))
		check(t, replace())
		said += `hostexec: the requests in "` + top + `" are not served: it ` + found + "\n" + next
		eventually(t, patience, "the proxy says "+said, func() bool { return p.errs.String() == said })
		check(t, os.Remove(top))
		said += `hostexec: the requests in "` + top + `" are served again` + "\n"
		eventually(t, patience, "the proxy says "+said, func() bool { return p.errs.String() == said })
		want(t, "a call", h.feed(t, "", h.Client("echo"), "back").String(), Result{Out: "back\n"}.String())
	}
	check(t, os.Rename(top, top+".old"))
	check(t, os.Symlink(top+".old", top))
	said += `hostexec: the requests in "` + top + `" are not served: it is a symbolic link` + "\n" + next
	eventually(t, patience, "the proxy says "+said, func() bool { return p.errs.String() == said })
	check(t, os.Remove(top))
	check(t, os.Rename(top+".old", top))
	said += `hostexec: the requests in "` + top + `" are served again` + "\n"
	eventually(t, patience, "the proxy says "+said, func() bool { return p.errs.String() == said })
	want(t, "its code", p.Stop(t, syscall.SIGTERM), 0)
	want(t, "what it says", p.errs.String(), said)
}

// TestIntegrationProxyOrphans starts a proxy beside processes that earlier calls have left.
func TestIntegrationProxyOrphans(t *testing.T) {
	h := newHost(t, false)
	check(t, os.MkdirAll(h.At("echo"), 0o700))
	old := time.Now().Add(-time.Hour)
	for name, at := range map[string]time.Time{
		"old.stdout": old, "old.stderr": old, "old.exit": old, "old.status": old, "old.req.tmp": old, "old.stdin": old,
		"young.stdout": time.Now(), "young.exit": time.Now(), "mixed.stdout": old, "mixed.beat": time.Now(), "notes.txt": old, "README": old,
	} {
		path := filepath.Join(h.At("echo"), name)
		check(t, os.WriteFile(path, nil, 0o644))
		check(t, os.Chtimes(path, at, at))
	}
	Submit(t, h.At("echo"), "before", "", "it was there before")
	Submit(t, h.At("echo"), "long", "", "long before")
	check(t, os.Chtimes(h.At("echo")+"/long.req", old, old))
	h.Proxy(t, "echo="+find(t, "echo"))
	want(t, "a request of before", Answer(t, h.At("echo"), "before").String(), Result{Out: "it was there before\n"}.String())
	r := Answer(t, h.At("echo"), "long")
	if r.Code != 124 || r.Out != "" || !strings.Contains(r.Err, "older than 5m0s") {
		t.Errorf("a request of long before: %v", r)
	}
	want(t, "files left", strings.Join(protocol(t, h.At("echo")), " "), "mixed.beat mixed.stdout notes.txt young.exit young.stdout")
}

// TestIntegrationProxyFailedStart starts a proxy that cannot write its second client: it leaves no client whose callers
// would wait.
func TestIntegrationProxyFailedStart(t *testing.T) {
	h := newHost(t, false)
	check(t, os.MkdirAll(filepath.Join(h.Work, "d", "sleep"), 0o700))
	r := h.runsProxy(t, "--dir", "d", "make", "sleep")
	if r.Code != 125 || !strings.Contains(r.Err, "write the client for sleep") {
		t.Errorf("it ends with %v", r)
	}
	for _, name := range []string{"make", "make.pid"} {
		if _, err := os.Lstat(filepath.Join(h.Work, "d", name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left (%v)", name, err)
		}
	}
}

// TestIntegrationProxyBadInput checks the error of each wrong command line.
//
// Attacks 16, 164, 223.
func TestIntegrationProxyBadInput(t *testing.T) {
	h := newHost(t, false)
	h.Write(t, h.Work, "tool", "#!/bin/sh\n", 0o755)
	check(t, os.Symlink(t.TempDir(), h.Work+"/link"))
	planted := filepath.Join(h.Home, "planted")
	check(t, os.MkdirAll(planted, 0o755))
	check(t, os.Symlink("/tmp", planted+"/.hostexec"))
	for _, tt := range []struct {
		name, args, says string
		code             int
	}{
		{"no command", "", "requires at least 1 argument", 125},
		{"an unknown flag", "--nonsense make", "unknown flag: --nonsense", 125},
		{"not in PATH", "foo", "hostexec: command 'foo' not found in PATH", 125},
		{"what to type instead", "foo", "docker hostexec proxy foo=/path/to/foo", 125},
		{"a negative time", "--shutdown-grace -1s make", "hostexec: --shutdown-grace -1s: must not be negative", 125},
		{"no name", "''", `hostexec: "": no command named`, 125},
		{"a flag behind --", "-- -x", "hostexec: -x: ", 125},
		{"given twice", "make make", "hostexec: make: given twice", 125},
		{"no directory", "--dir= make", "hostexec: --dir: no directory named", 125},
		{"the root", "--dir / make", "hostexec: --dir /: not a directory for requests", 125},
		{"a link", "--dir link make", "a symbolic link is on the way", 125},
		{"two directories", "--dir x --global make", "--dir and --global exclude each other", 125},
		{"the state", "--dir " + h.State + "/x make", "overlap", 125},
		{"a program within", "--dir . tool=" + h.Work + "/tool", "could change " + h.Work + "/tool, which tool runs", 125},
		{"a variable with a value", "--pass-env A=b make", "give the name only", 125},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := strings.Fields(tt.args)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "''", "")
			}
			r := h.runsProxy(t, args...)
			if r.Code != tt.code || r.Out != "" || !strings.Contains(r.Err, tt.says) {
				t.Errorf("proxy %s: %v, want code %d and %q", tt.args, r, tt.code, tt.says)
			}
		})
	}
	t.Run("a notifier's script", func(t *testing.T) {
		h.Write(t, h.State, "config.yaml", "version: 1\nnotify: {command: [/bin/sh, "+h.Work+"/tell.sh]}\n", 0o600)
		defer os.Remove(filepath.Join(h.State, "config.yaml"))
		r := h.runsProxy(t, "make")
		if says := "can change " + h.Work + "/tell.sh, which notify.command names"; r.Code != 125 || !strings.Contains(r.Err, says) {
			t.Errorf("proxy: %v, want code 125 and %q", r, says)
		}
	})
	t.Run("a planted link", func(t *testing.T) {
		there := &Host{Name: h.Name, Home: h.Home, State: h.State, Work: planted, cred: h.cred}
		r := there.runsProxy(t, "make")
		if r.Code != 125 || !strings.Contains(r.Err, "a symbolic link is on the way") {
			t.Errorf("proxy: %v", r)
		}
	})
	h.quiet(t, soon)
}
