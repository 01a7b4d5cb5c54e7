// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clients are the programs that call by files: ours in several shells, and the one of the
// protocol's description, which nobody here has written.
func clients(t *testing.T, h *Host, command string) map[string][]string {
	t.Helper()
	tools := filepath.Join(h.Home, "tools")
	h.mkdir(t, tools)
	h.Write(t, tools, "inotifywait", "#!/bin/sh\nexec "+probePath(t)+" inotifywait \"$@\"\n", 0o755)
	source := strings.ReplaceAll(string(readFile(t, "testdata/source000.sh")), "@DIR@", h.At(command))
	theirs := h.Write(t, h.Home, "source-"+command, source, 0o755)
	with := func(argv ...string) []string {
		return append([]string{"env", "PATH=" + tools + ":" + os.Getenv("PATH")}, argv...)
	}
	ours := h.Client(command)
	all := map[string][]string{
		"itself": {ours}, "bash": {"bash", ours}, "busybox": {find(t, "busybox"), "sh", ours}, "itself, with inotifywait": with(ours),
		"the shim": h.Shim(t, command), "theirs": {theirs}, "theirs, with inotifywait": with(theirs),
	}
	if dash, err := exec.LookPath("dash"); err == nil {
		all["dash"] = []string{dash, ours}
	}
	return all
}

// Shim is the shim as a client of a command, of a proxy that runs.
func (h *Host) Shim(t *testing.T, command string) []string {
	t.Helper()
	shims, err := filepath.Glob(filepath.Join(h.State, "sessions", "*", "share", "bin", "hostexec"))
	check(t, err)
	if len(shims) == 0 {
		t.Fatal("no session has a shim")
	}
	dir := filepath.Join(h.Home, "shims")
	h.mkdir(t, dir)
	return []string{"env", "PROXY_DIR=" + h.At(command), h.Write(t, dir, command, string(readFile(t, shims[0])), 0o755)}
}

// callers are the numbers that users have in containers.
func callers(h *Host) []*Host {
	if os.Getuid() != 0 {
		return []*Host{h}
	}
	return []*Host{h.as(0), h.as(1000), h.as(65534)}
}

// TestIntegrationProxyClients makes the same calls by every client, as every user, to every
// person's proxy.
func TestIntegrationProxyClients(t *testing.T) {
	t.Parallel() // most of it is waiting
	for _, ordinary := range userKinds() {
		h := newHost(t, ordinary)
		args := h.args(t)
		h.Proxy(t, args+" sh=/bin/sh", "--any-user")
		for name, argv := range clients(t, h, "args") {
			for _, c := range callers(h) {
				t.Run(c.Name+"/"+name, func(t *testing.T) {
					call := func(in string, args ...string) Result {
						return c.feed(t, in, argv[0], append(argv[1:len(argv):len(argv)], args...)...)
					}
					want(t, "without arguments", call("").String(), Result{}.String())
					want(t, "with strange ones", call("", "a b", "", "c=d\ne", "ü").String(), Result{Out: "a\\ b\n''\n$'c=d\\ne'\nü\n"}.String())
				})
			}
		}
		for name, argv := range clients(t, h, "sh") {
			for _, c := range callers(h) {
				t.Run(c.Name+"/"+name+"/streams", func(t *testing.T) {
					r := c.feed(t, "", argv[0], append(argv[1:len(argv):len(argv)], "-c", "echo out; echo err >&2; exit 42")...)
					want(t, "the answer", r.String(), Result{Out: "out\n", Err: "err\n", Code: 42}.String())
				})
			}
		}
		for _, command := range []string{"args", "sh"} {
			want(t, "files left", strings.Join(protocol(t, h.At(command)), " "), "")
		}
	}
}

// TestIntegrationProxyMake runs the example of the description from several directories. It goes on
// after git clean -fdx.
func TestIntegrationProxyMake(t *testing.T) {
	h := newHost(t, false)
	h.Write(t, h.Work, "Makefile", "build:\n\t@echo building $(TARGET)\n", 0o644)
	h.Proxy(t, "make")
	want(t, "make build", h.feed(t, "", ".hostexec/proxy/make/make", "build", "TARGET=hello").String(), Result{Out: "building hello\n"}.String())
	r := h.feed(t, "", h.Client("make"), "nope")
	if r.Code != 2 || !strings.Contains(r.Err, "No rule to make target 'nope'") {
		t.Errorf("make nope: %v", r)
	}
	for name, argv := range map[string][]string{"the script": {h.Client("make")}, "the shim": h.Shim(t, "make")} {
		elsewhere := append([]string{"-c", `cd / && exec "$@"`, "sh"}, append(argv, "build", "TARGET=elsewhere")...)
		want(t, name+" in another directory", h.feed(t, "", "sh", elsewhere...).String(), Result{Out: "building elsewhere\n"}.String())
	}
	ignored := filepath.Join(h.Work, ".hostexec/.gitignore")
	want(t, ".gitignore", string(readFile(t, ignored)), "*\n")
	check(t, os.RemoveAll(filepath.Dir(ignored)))
	eventually(t, patience, "the client is there again", func() bool { _, err := os.Stat(h.Client("make") + ".pid"); return err == nil })
	want(t, "make build, later", h.feed(t, "", h.Client("make"), "build", "TARGET=hello").String(), Result{Out: "building hello\n"}.String())
	want(t, ".gitignore, later", string(readFile(t, ignored)), "*\n")
	for _, of := range []string{"", ".pid"} { // the directory stays, and what is in it goes
		check(t, os.Remove(h.Client("make")+of))
		eventually(t, patience, "make"+of+" is there again", func() bool { _, err := os.Stat(h.Client("make") + of); return err == nil })
	}
	check(t, os.Remove(ignored))
	eventually(t, patience, ".gitignore is there again", func() bool { text, _ := os.ReadFile(ignored); return string(text) == "*\n" })
	want(t, "make build, at last", h.feed(t, "", h.Client("make"), "build", "TARGET=hello").String(), Result{Out: "building hello\n"}.String())
}

// TestIntegrationProxyStdin checks that stdin reaches a command that reads it, and delays no other call.
func TestIntegrationProxyStdin(t *testing.T) {
	h := newHost(t, false)
	h.Proxy(t, "cat=/bin/cat sh=/bin/sh head="+find(t, "head"))
	large := strings.Repeat("0123456789abcde\n", 1<<16)
	want(t, "a line", h.feed(t, "a line\n", h.Client("cat")).String(), Result{Out: "a line\n"}.String())
	if r := h.feed(t, large, h.Client("cat")); r.Out != large || r.Code != 0 {
		t.Errorf("a megabyte: %d bytes, %v", len(r.Out), r.Code)
	}
	want(t, "what is not read", h.feed(t, large, h.Client("head"), "-c", "3").Out, "012")

	// A pipe that nobody writes to and nobody closes is no reason to wait.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := h.Command(ctx, h.Client("sh"), "-c", "echo here")
	in, err := cmd.StdinPipe()
	check(t, err)
	defer in.Close()
	out, err := cmd.Output()
	want(t, "beside an idle pipe", fmt.Sprint(string(out), err), "here\n<nil>")

	// Theirs has all of stdin there before the request.
	check(t, os.WriteFile(h.At("cat")+"/x.stdin", []byte("before"), 0o644))
	Submit(t, h.At("cat"), "x", "")
	want(t, "stdin of before the request", Answer(t, h.At("cat"), "x").Out, "before")
}

// TestIntegrationProxyOutput checks that no byte is lost, and that the command ends when nobody
// reads.
func TestIntegrationProxyOutput(t *testing.T) {
	h := newHost(t, false)
	h.Proxy(t, "p="+probePath(t)+" sh=/bin/sh")
	Submit(t, h.At("sh"), "x", "", "-c", "head -c 5000000 /dev/zero; printf tail")
	if r := Answer(t, h.At("sh"), "x"); len(r.Out) != 5000004 || !strings.HasSuffix(r.Out, "tail") {
		t.Errorf("%d bytes of 5000004", len(r.Out))
	}
	r := h.feed(t, "", h.Client("sh"), "-c", "i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); done; sleep 0.3; head -c 5000000 /dev/zero; printf tail")
	if !strings.HasSuffix(r.Out, "tail") || len(r.Out) != 5001094 {
		t.Errorf("the client has %d bytes: %v", len(r.Out), r.Code)
	}
	began := filepath.Join(h.Work, "began")
	pipe := h.feed(t, "", "bash", "-c", h.Client("sh")+` -c 'echo $$ >began; while echo y; do sleep 0.01; done' | head -1; echo ${PIPESTATUS[0]}`)
	want(t, "yes | head", pipe.Out, "y\n141\n")
	eventually(t, patience, "the command has ended", func() bool { return syscall.Kill(atoi(t, string(readFile(t, began))), 0) == syscall.ESRCH })
}

// TestIntegrationProxyCallerGone ends callers in every way: their commands end with them.
func TestIntegrationProxyCallerGone(t *testing.T) {
	for _, name := range []string{"script", "shim"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			h := newHost(t, false)
			h.Proxy(t, "sh=/bin/sh")
			callerGone(t, h, map[string][]string{"script": {h.Client("sh")}, "shim": h.Shim(t, "sh")}[name])
		})
	}
}

func callerGone(t *testing.T, h *Host, client []string) {
	client = append(client, "-c", `echo $$ >"$0.tmp"; mv "$0.tmp" "$0"; sleep 1000; true`)
	for _, tt := range []struct {
		name string
		env  string
		sig  syscall.Signal
		code int
	}{
		{"INT", "", syscall.SIGINT, 130},
		{"TERM", "", syscall.SIGTERM, 143},
		{"KILL", "", syscall.SIGKILL, 137},
		{"its own limit", "PROXY_TIMEOUT=1", 0, 124},
		{"its own limit for the host", "HOSTEXEC_TIMEOUT=1s", 0, 124},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
			defer cancel()
			began := filepath.Join(h.Work, "began-"+strings.NewReplacer(" ", "-", "/", "-").Replace(t.Name()))
			cmd := h.Command(ctx, client[0], append(client[1:], began)...)
			cmd.Env = append(cmd.Env, tt.env)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			check(t, cmd.Start())
			eventually(t, patience, "the command runs", func() bool { return len(readFile(t, began)) > 0 })
			command := hold(t, atoi(t, string(readFile(t, began))))
			if tt.sig != 0 {
				check(t, cmd.Process.Signal(tt.sig))
			}
			cmd.Wait()
			want(t, "its code", exitCode(cmd.ProcessState), tt.code)
			if tt.code == 124 && !strings.Contains(errs.String(), "time") {
				t.Errorf("it says %q", &errs)
			}
			command.Ends(t, 2*patience)
			eventually(t, patience, "nothing is left of it", func() bool {
				left := protocol(t, h.At("sh"))
				return len(left) == 0 || tt.sig == syscall.SIGKILL
			})
			for _, name := range protocol(t, h.At("sh")) {
				os.Remove(filepath.Join(h.At("sh"), name))
			}
		})
	}
}

// TestIntegrationProxyTimeouts checks the values of PROXY_TIMEOUT and HOSTEXEC_TIMEOUT.
func TestIntegrationProxyTimeouts(t *testing.T) {
	h := newHost(t, false)
	h.Proxy(t, "sh=/bin/sh")
	for _, tt := range []struct {
		env  string
		code int
	}{
		{"PROXY_TIMEOUT=", 0}, {"PROXY_TIMEOUT=0", 0}, {"PROXY_TIMEOUT=09", 0}, {"PROXY_TIMEOUT=60s", 0}, {"PROXY_TIMEOUT=5m", 0}, {"PROXY_TIMEOUT=1h", 0},
		{"PROXY_TIMEOUT=x", 125}, {"PROXY_TIMEOUT=-1", 125}, {"PROXY_TIMEOUT=1d", 125}, {"PROXY_TIMEOUT=s", 125},
		{"HOSTEXEC_TIMEOUT=1h", 0}, {"HOSTEXEC_TIMEOUT=nonsense", 125},
	} {
		t.Run(tt.env, func(t *testing.T) {
			for _, client := range [][]string{{h.Client("sh")}, h.Shim(t, "sh")} {
				r := h.feed(t, "", "env", append(append([]string{tt.env}, client...), "-c", "true")...)
				if r.Code != tt.code || (tt.code != 0) != strings.Contains(r.Err, "want a time such as") {
					t.Errorf("%q: %v, want code %d", client, r, tt.code)
				}
			}
		})
	}
	// Never early: a limit of one second is a whole one.
	for _, client := range [][]string{{h.Client("sh")}, h.Shim(t, "sh")} {
		began := time.Now()
		r := h.feed(t, "", "env", append(append([]string{"PROXY_TIMEOUT=1"}, client...), "-c", "sleep 1000")...)
		if took := time.Since(began); r.Code != 124 || took < time.Second {
			t.Errorf("%q after %s: %v", client, took, r)
		}
	}
}
