// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// args is a command of the host's that prints its arguments, each on a line and quoted.
func (h *Host) args(t testing.TB) string {
	return "args=" + h.Write(t, h.Home, "args", "#!/bin/bash\nfor a; do printf '%q\\n' \"$a\"; done\n", 0o755)
}

// TestIntegrationProxyRequest puts requests there by hand, and looks at each file.
func TestIntegrationProxyRequest(t *testing.T) {
	h := newHost(t, false)
	h.Proxy(t, h.args(t)+" sh=/bin/sh")
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"none", nil, ""},
		{"one", []string{"a"}, "a\n"},
		{"empty ones", []string{"a", "", "b", ""}, "a\n''\nb\n''\n"},
		{"one empty", []string{""}, "''\n"},
		{"spaces, quotes and equals signs", []string{"a b", `"c'd"`, "E=f g"}, "a\\ b\n\\\"c\\'d\\\"\nE=f\\ g\n"},
		{"a newline and unicode", []string{"a\nb", "häß✓"}, "$'a\\nb'\nhäß✓\n"},
		{"like a flag", []string{"--help", "-x", "--"}, "--help\n-x\n--\n"},
		{"a large one", []string{strings.Repeat("x", 100_000)}, strings.Repeat("x", 100_000) + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			Submit(t, h.At("args"), "id", "", tt.args...)
			want(t, "the answer", Answer(t, h.At("args"), "id").String(), Result{Out: tt.want}.String())
			want(t, "files left", strings.Join(protocol(t, h.At("args")), " "), "")
		})
	}
	for _, tt := range []struct {
		name, script string
		want         Result
	}{
		{"a code", "exit 42", Result{Code: 42}},
		{"two streams", "echo out; echo err >&2", Result{Out: "out\n", Err: "err\n"}},
		{"a signal", "kill -9 $$", Result{Code: 137}},
		{"codes like ours", "exit 124", Result{Code: 124}},
		{"where", "pwd; echo $PWD", Result{Out: h.Work + "\n" + h.Work + "\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			Submit(t, h.At("sh"), "0f8e2022-4f5e-486f-8ec8-307ae65dd6ad", "", "-c", tt.script)
			want(t, "the answer", Answer(t, h.At("sh"), "0f8e2022-4f5e-486f-8ec8-307ae65dd6ad").String(), tt.want.String())
		})
	}
	if n := len(h.Audit(t, "HOSTEXEC START", "exit 42", "container=proxy")); n != 1 {
		t.Errorf("START is written %d times", n)
	}
}

// TestIntegrationProxySidecars checks that the exit file contains only digits, that the reason is
// in a file beside it, and that the output can be followed.
func TestIntegrationProxySidecars(t *testing.T) {
	h := newHost(t, false)
	h.Proxy(t, "sh=/bin/sh")
	at := func(what string) string { return filepath.Join(h.At("sh"), "x."+what) }
	Submit(t, h.At("sh"), "x", "sh", "-c", "printf first; until [ -e go ]; do sleep 0.05; done; printf 'second' >&2; exit 3")
	eventually(t, patience, "the beginning is there before the end", func() bool { return string(readFile(t, at("stdout"))) == "first" })
	_, err := os.Stat(at("req"))
	want(t, "the request is claimed", os.IsNotExist(err), true)
	check(t, os.WriteFile(h.Work+"/go", nil, 0o644))
	eventually(t, patience, "the end is there", func() bool { _, err := os.Stat(at("exit")); return err == nil })
	want(t, "the code", string(readFile(t, at("exit"))), "3\n")
	var status struct {
		Status         string
		Code           int
		Stdout, Stderr int
	}
	check(t, json.Unmarshal(readFile(t, at("status")), &status))
	want(t, "status", fmt.Sprint(status), "{exited 3 5 6}")
	Answer(t, h.At("sh"), "x")

	Submit(t, h.At("sh"), "y", "", "-c", "kill -9 $$")
	eventually(t, patience, "the end is there", func() bool { _, err := os.Stat(h.At("sh") + "/y.exit"); return err == nil })
	want(t, "the code of a signal", string(readFile(t, h.At("sh")+"/y.exit")), "137\n")
	if text := string(readFile(t, h.At("sh")+"/y.status")); !strings.Contains(text, `"signal":"KILL"`) {
		t.Errorf("status = %s", text)
	}
}

// TestIntegrationProxyParallel makes calls at once, each of which has an answer of its own.
func TestIntegrationProxyParallel(t *testing.T) {
	h := newHost(t, false)
	h.Proxy(t, "sh=/bin/sh")
	const many = 40
	for i := range many {
		n := strconv.Itoa(i)
		Submit(t, h.At("sh"), "id"+n, "", "-c", "echo out"+n+"; echo err"+n+" >&2; exit "+n)
	}
	for i := range many {
		n := strconv.Itoa(i)
		want(t, "answer "+n, Answer(t, h.At("sh"), "id"+n).String(), Result{Out: "out" + n + "\n", Err: "err" + n + "\n", Code: i}.String())
	}
}

// TestIntegrationProxyRepeated uses an id again as soon as its answer was read, because a caller
// may number its calls by its process id.
func TestIntegrationProxyRepeated(t *testing.T) {
	h := newHost(t, false)
	h.Proxy(t, "true=/bin/true")
	at := filepath.Join(h.At("true"), "id.")
	for range 300 {
		Submit(t, h.At("true"), "id", "", "x")
		for late := time.Now().Add(patience); ; { // as fast as can be: a tick would be too slow to see it
			if _, err := os.Stat(at + "exit"); err == nil {
				break
			}
			if time.Now().After(late) {
				t.Fatal("no answer to a call whose id was used before")
			}
		}
		for _, what := range []string{"exit", "stdout", "stderr"} {
			check(t, os.Remove(at+what))
		}
	}
}

// TestIntegrationProxyCancel cancels a running call: its command ends, and the answer names the
// caller as the cause.
func TestIntegrationProxyCancel(t *testing.T) {
	h := newHost(t, false)
	h.Proxy(t, "sh=/bin/sh")
	Submit(t, h.At("sh"), "id", "", "-c", "echo began; exec sleep 1000")
	eventually(t, patience, "it runs", func() bool { return string(readFile(t, h.At("sh")+"/id.stdout")) == "began\n" })
	check(t, os.WriteFile(h.At("sh")+"/id.cancel", []byte("TERM\n"), 0o644))
	want(t, "the answer", Answer(t, h.At("sh"), "id").String(), Result{Out: "began\n", Err: "hostexec: the caller has cancelled the call\n", Code: 125}.String())
}

// TestIntegrationProxyPolicy checks that the host's rules apply, and that a person can be asked.
func TestIntegrationProxyPolicy(t *testing.T) {
	h := newHost(t, false)
	h.Write(t, h.State, "config.yaml", "approval:\n  wait: always\n", 0o600)
	h.Proxy(t, "echo=deny sh=ask")
	Submit(t, h.At("echo"), "x", "", "a")
	r := Answer(t, h.At("echo"), "x")
	if r.Code != 126 || !strings.HasPrefix(r.Err, "hostexec: echo: ") {
		t.Errorf("a denied call: %v", r)
	}
	for verdict, want := range map[string]int{"approve": 7, "deny": 126} {
		Submit(t, h.At("sh"), verdict, "", "-c", "exit 7 # "+verdict)
		var id string
		eventually(t, patience, "somebody is asked", func() bool {
			id = strings.TrimSpace(h.Docker(t, "hostexec", "pending", "-q").Out)
			return id != ""
		})
		h.Must(t, "hostexec", verdict, id)
		if r := Answer(t, h.At("sh"), verdict); r.Code != want {
			t.Errorf("%s: %v, want code %d", verdict, r, want)
		}
	}
	// Who does not wait any more is not asked for.
	Submit(t, h.At("sh"), "gone", "", "-c", "exit 8")
	eventually(t, patience, "somebody is asked", func() bool { return strings.TrimSpace(h.Docker(t, "hostexec", "pending", "-q").Out) != "" })
	check(t, os.WriteFile(h.At("sh")+"/gone.cancel", []byte("INT\n"), 0o644))
	want(t, "the code of a withdrawn call", Answer(t, h.At("sh"), "gone").Code, 125)
	want(t, "questions", strings.TrimSpace(h.Docker(t, "hostexec", "pending", "-q").Out), "")
}

// TestIntegrationProxyFlat calls several commands in one directory, with one proxy and with two. Each request
// runs the command that it names; a request without a name runs nothing.
func TestIntegrationProxyFlat(t *testing.T) {
	for _, separate := range []bool{false, true} {
		h := newHost(t, false)
		alpha := "alpha=" + h.Write(t, h.Home, "alpha", "#!/bin/sh\necho alpha $1\n", 0o755)
		beta := "beta=" + h.Write(t, h.Home, "beta", "#!/bin/sh\necho beta $1\nexit 3\n", 0o755)
		dir := filepath.Join(h.Work, "flat")
		if separate {
			p := h.Proxy(t, alpha, "--dir", "flat")
			want(t, "the script's line", p.Lines[1], "[proxy] Container script: flat/alpha")
			Submit(t, dir, "only", "", "x")
			want(t, "a request while there is one command", Answer(t, dir, "only").Out, "alpha x\n")
			h.Proxy(t, beta, "--dir", "flat")
			r := h.runsProxy(t, "--dir", "flat", beta)
			if r.Code != 1 || !strings.Contains(r.Err, "proxy for 'beta' already running (PID ") {
				t.Errorf("a third one: %v", r)
			}
		} else {
			h.Proxy(t, alpha+" "+beta, "--dir", "flat")
		}
		for i := range 30 {
			n := strconv.Itoa(i)
			Submit(t, dir, "a"+n, "alpha", n)
			Submit(t, dir, "b"+n, "beta", n)
			Submit(t, dir, "c"+n, "", n)
		}
		for i := range 30 {
			n := strconv.Itoa(i)
			want(t, "of alpha", Answer(t, dir, "a"+n).String(), Result{Out: "alpha " + n + "\n"}.String())
			want(t, "of beta", Answer(t, dir, "b"+n).String(), Result{Out: "beta " + n + "\n", Code: 3}.String())
			if r := Answer(t, dir, "c"+n); r.Code != 2 || r.Out != "" || !strings.HasPrefix(r.Err, "hostexec: ambiguous: ") {
				t.Errorf("of neither: %v", r)
			}
		}
		Submit(t, dir, "d", "gamma", "x")
		want(t, "of one that is not there", Answer(t, dir, "d").Code, 127)
		for _, name := range []string{"alpha", "beta"} {
			want(t, "the client of "+name, h.feed(t, "", filepath.Join(dir, name), "x").Out, name+" x\n")
		}
	}
}

// TestIntegrationProxyPolling serves a directory whose changes nobody tells of: it is seen
// through FUSE, and written to from behind.
func TestIntegrationProxyPolling(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("only root mounts")
		return
	}
	h := newHost(t, false)
	behind, front := filepath.Join(h.Home, "behind"), filepath.Join(h.Work, "front")
	h.mkdir(t, behind)
	h.mkdir(t, front)
	check(t, os.Chmod(behind, 0o700))
	if out, err := exec.Command("bindfs", behind, front).CombinedOutput(); err != nil {
		t.Fatalf("bindfs: %v: %s", err, out)
	}
	t.Cleanup(func() { syscall.Unmount(front, syscall.MNT_DETACH) })
	h.Proxy(t, "echo="+find(t, "echo"), "--dir", front)
	for i := range 5 {
		id := "id" + strconv.Itoa(i)
		Submit(t, behind, id, "", id)
		want(t, "the answer", Answer(t, behind, id).String(), Result{Out: id + "\n"}.String())
	}
	h.Proxy(t, "true="+find(t, "true"), "--dir", front).Stop(t, syscall.SIGTERM)
	names, err := os.ReadDir(behind)
	check(t, err)
	if i := slices.IndexFunc(names, func(e os.DirEntry) bool { return e.Name() == "true" }); i >= 0 {
		t.Error("the client is still there")
	}
}
