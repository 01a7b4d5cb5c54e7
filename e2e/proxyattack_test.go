// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestIntegrationAttackFiles puts other files into a request directory, in the places of requests
// and of answers. Nothing outside is read or written, and the next request is answered.
//
// Attacks 1, 2, 3, 4, 6, 7, 8, 14, 15.
func TestIntegrationAttackFiles(t *testing.T) {
	for _, ordinary := range userKinds() {
		h := newHost(t, ordinary)
		canary := h.Write(t, h.Home, "canary", "a\x00secret of the host\x00", 0o600)
		h.Proxy(t, h.args(t)+" sh=/bin/sh")
		at := func(name string) string { return filepath.Join(h.At("args"), name) }
		served := func(t *testing.T) {
			t.Helper()
			Submit(t, h.At("args"), "good", "", "x")
			want(t, "the next request", Answer(t, h.At("args"), "good").String(), Result{Out: "x\n"}.String())
			want(t, "the file outside", string(readFile(t, canary)), "a\x00secret of the host\x00")
		}
		plants := map[string]func(path string) error{
			"a link":                   func(path string) error { return os.Symlink(canary, path) },
			"a link to the environ":    func(path string) error { return os.Symlink("/proc/self/environ", path) },
			"a link within":            func(path string) error { return os.Symlink("args", path) },
			"a link to itself":         func(path string) error { return os.Symlink(path, path) },
			"a second name":            func(path string) error { return os.Link(canary, path) },
			"a pipe":                   func(path string) error { return unix.Mkfifo(path, 0o666) },
			"a directory":              func(path string) error { return os.Mkdir(path, 0o777) },
			"ten gigabytes of nothing": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 10<<30)) },
		}
		if os.Getuid() == 0 {
			plants["a device"] = func(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))) }
			plants["a terminal"] = func(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(5, 0))) }
		}
		for name, plant := range plants {
			t.Run(h.Name+"/as a request/"+name, func(t *testing.T) {
				check(t, plant(at("evil.req")))
				served(t)
				for _, what := range []string{"stdout", "stderr"} {
					if text := string(readFile(t, at("evil."+what))); strings.Contains(text, "secret") {
						t.Errorf("%s has %q", what, text)
					}
				}
				check(t, os.RemoveAll(at("evil.req")))
			})
			for _, what := range []string{"stdout", "stderr", "exit", "status", "cmd", "alive", "cancel", "stdin", "eof", "beat", "exit.tmp"} {
				t.Run(h.Name+"/as "+what+"/"+name, func(t *testing.T) {
					id := "evil-" + strings.ReplaceAll(what, ".", "-")
					check(t, plant(at(id+"."+what)))
					Submit(t, h.At("args"), id, "", "x")
					served(t)
					eventually(t, patience, "the request is claimed", func() bool { _, err := os.Stat(at(id + ".req")); return os.IsNotExist(err) })
				})
			}
			eventually(t, patience, "nothing is in flight", func() bool {
				for _, left := range protocol(t, h.At("args")) {
					os.RemoveAll(at(left))
				}
				return len(protocol(t, h.At("args"))) == 0
			})
		}
		for _, left := range h.Audit(t, "secret of the host") {
			t.Errorf("it ran: %s", left)
		}
	}
}

// TestIntegrationAttackFilesNames makes files that look like requests but are not. They are
// ignored, and their names are shown nowhere.
//
// Attack 13.
func TestIntegrationAttackFilesNames(t *testing.T) {
	h := newHost(t, false)
	p := h.Proxy(t, "touch="+find(t, "touch"))
	for _, name := range []string{".req", "a b.req", "a\nb.req", "a\x1b[2Jb.req", "a..req", "a.b.req", "\xff.req", "a.REQ", "a.req.", strings.Repeat("x", 65) + ".req", "ä.req"} {
		check(t, os.WriteFile(filepath.Join(h.At("touch"), name), []byte(h.Work+"/evil\x00"), 0o644))
	}
	Submit(t, h.At("touch"), strings.Repeat("x", 64), "", h.Work+"/good")
	want(t, "the longest name", Answer(t, h.At("touch"), strings.Repeat("x", 64)).String(), Result{}.String())
	_, err := os.Stat(h.Work + "/evil")
	want(t, "nothing else ran", os.IsNotExist(err), true)
	p.Stop(t, syscall.SIGTERM)
	want(t, "what it says", p.errs.String(), "")
}

// TestIntegrationAttackFilesPartial writes a request in place, and slowly: no beginning of it
// is run.
//
// Attack 12.
func TestIntegrationAttackFilesPartial(t *testing.T) {
	h := newHost(t, false)
	h.Proxy(t, h.args(t))
	f, err := os.Create(filepath.Join(h.At("args"), "half.req"))
	check(t, err)
	_, err = f.WriteString("one")
	check(t, err)
	check(t, f.Close())
	r := Answer(t, h.At("args"), "half")
	if r.Code != 125 || r.Out != "" || !strings.Contains(r.Err, "incomplete") {
		t.Errorf("half a request: %v", r)
	}
}

// TestIntegrationAttackFilesFlood floods a directory with pipes, and with files until the
// queue of events runs over; the watcher's threads stay few.
//
// Attacks 5, 20, 138.
func TestIntegrationAttackFilesFlood(t *testing.T) {
	h := newHost(t, false)
	h.Proxy(t, h.args(t))
	watcher := atoi(t, string(readFile(t, h.At("args")+"/args.pid")))
	for i := range 3000 {
		check(t, unix.Mkfifo(filepath.Join(h.At("args"), "pipe"+strconv.Itoa(i)+".req"), 0o666))
	}
	for i := range 20000 {
		check(t, os.WriteFile(filepath.Join(h.At("args"), fmt.Sprintf("junk%d.x", i)), nil, 0o644))
	}
	Submit(t, h.At("args"), "good", "", "x")
	want(t, "the next request", Answer(t, h.At("args"), "good").String(), Result{Out: "x\n"}.String())
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", watcher))
	check(t, err)
	if len(threads) > 64 {
		t.Errorf("the watcher has %d threads", len(threads))
	}
}

// TestIntegrationAttackFilesReusedID uses one name for two requests at once, and answers of
// others' in advance.
//
// Attack 21.
func TestIntegrationAttackFilesReusedID(t *testing.T) {
	h := newHost(t, false)
	h.Proxy(t, "sh=/bin/sh")
	Submit(t, h.At("sh"), "id", "", "-c", "echo first; until [ -e go ]; do sleep 0.05; done")
	eventually(t, patience, "the first runs", func() bool { return len(readFile(t, h.At("sh")+"/id.stdout")) > 0 })
	Submit(t, h.At("sh"), "id", "", "-c", "echo second; touch evil")
	eventually(t, patience, "the second is removed", func() bool { _, err := os.Stat(h.At("sh") + "/id.req"); return os.IsNotExist(err) })
	check(t, os.WriteFile(h.Work+"/go", nil, 0o644))
	want(t, "the first's answer", Answer(t, h.At("sh"), "id").String(), Result{Out: "first\n"}.String())
	_, err := os.Stat(h.Work + "/evil")
	want(t, "the second has not run", os.IsNotExist(err), true)
	check(t, os.WriteFile(h.At("sh")+"/early.exit", []byte("0\n"), 0o666))
	Submit(t, h.At("sh"), "early", "", "-c", "exit 9")
	eventually(t, patience, "the real end is there", func() bool { return string(readFile(t, h.At("sh")+"/early.exit")) == "9\n" })
}

// TestIntegrationAttackFilesRewritten keeps rewriting open requests while they are read, shown,
// approved and run. The content that was shown and recorded runs.
//
// Attack 10.
func TestIntegrationAttackFilesRewritten(t *testing.T) {
	h := newHost(t, false)
	h.Write(t, h.State, "config.yaml", "approval: {wait: always}\n", 0o600)
	h.Proxy(t, strings.Replace(h.args(t), "=", "=ask,path=", 1))
	marks := []string{"mark0", "mark1", "mark2"}
	for _, mark := range marks {
		rewritten(t, h.At("args"), mark)
	}
	shown := map[string]string{} // by mark
	for _, q := range pending(t, h, "mark", len(marks)) {
		shown[q.Command[strings.LastIndexByte(q.Command, ' ')+1:]] = q.Command
		h.Must(t, "hostexec", "approve", q.ID)
	}
	for _, mark := range marks {
		r := Answer(t, h.At("args"), mark)
		ran := "args " + strings.ReplaceAll(strings.TrimSpace(r.Out), "\n", " ")
		want(t, "what ran, of what was shown", ran, shown[mark])
		start := h.Audit(t, " START ", mark)
		if len(start) != 1 || !strings.Contains(start[0], ran) {
			t.Errorf("written down: %q, want one with %q", start, ran)
		}
	}
}

// rewritten submits a request with id for its last argument, whose file changes for as long as
// the test lasts.
func rewritten(t *testing.T, dir, id string) {
	t.Helper()
	path := filepath.Join(dir, id+".req")
	f, err := os.Create(path + ".tmp")
	check(t, err)
	texts := []string{strings.Repeat("good", 200), strings.Repeat("evil", 200)}
	_, err = f.WriteString(texts[0] + "\x00" + id + "\x00")
	check(t, err)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	t.Cleanup(func() { close(stop); wg.Wait(); f.Close() })
	// ends with the test.
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				f.WriteAt([]byte(texts[i%2]), 0)
			}
		}
	})
	check(t, os.Rename(path+".tmp", path))
}

// TestIntegrationAttackFilesTimes gives files and the directory times of their own: the
// host judges by its own clock.
//
// Attack 19.
func TestIntegrationAttackFilesTimes(t *testing.T) {
	h := newHost(t, false)
	h.Proxy(t, "echo="+find(t, "echo"))
	for i, at := range []time.Time{time.Unix(1, 0), time.Now().Add(10 * 365 * 24 * time.Hour)} {
		id := "id" + strconv.Itoa(i)
		check(t, os.Chtimes(h.At("echo"), at, at))
		Submit(t, h.At("echo"), id, "", id)
		check(t, os.Chtimes(h.At("echo"), at, at))
		want(t, "the answer", Answer(t, h.At("echo"), id).Out, id+"\n")
	}
}

// TestIntegrationAttackFilesLong makes requests that fit into their file, and are too long as
// a call: each is refused, and none keeps the proxy from its end.
//
// Attacks 25, 161.
func TestIntegrationAttackFilesLong(t *testing.T) {
	h := newHost(t, false)
	p := h.Proxy(t, h.args(t))
	Submit(t, h.At("args"), "long", "args\x00env="+strings.Repeat("x", 1<<20)+"\x00", strings.Repeat("y", 3<<19))
	Submit(t, h.At("args"), "many", "", make([]string, 2<<20)...)
	for _, id := range []string{"long", "many"} {
		if r := Answer(t, h.At("args"), id); r.Code != 125 || r.Out != "" || !strings.Contains(r.Err, "the request has more than 2097152 bytes") {
			t.Errorf("%s: %v", id, r)
		}
	}
	Submit(t, h.At("args"), "good", "", "x")
	want(t, "the next request", Answer(t, h.At("args"), "good").String(), Result{Out: "x\n"}.String())
	want(t, "code", p.Stop(t, syscall.SIGTERM), 0)
}
