// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// serveSeven answers every call of make in the directory requests below base with the code 7.
func serveSeven(t *testing.T, base string) *Listener {
	t.Helper()
	box, err := dir.MakeUntrustedDir(base, "requests", dir.ForOwner)
	if err != nil {
		t.Fatal(err)
	}
	requests := RequestDir{Dir: box, Commands: []string{"make"}, Cwd: func() string { return "/" }}
	requests.Renew = func() (RequestDir, error) {
		var err error
		requests.Dir, err = dir.MakeUntrustedDir(base, "requests", dir.ForOwner)
		return requests, err
	}
	l, err := Listen([]RequestDir{requests}, slog.New(slog.DiscardHandler), &limit.Session{})
	if err != nil {
		t.Fatal(err)
	}
	seven := &wire.Exit{Outcome: wire.Exited, Code: 7}
	var serving sync.WaitGroup
	// ends when l is closed.
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, _, err := wire.ReadFrame(c, nil); err == nil {
				c.Write(wire.AppendFrame(nil, wire.KindExit, seven.Append(nil)))
			}
			c.Close()
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return l
}

// putFile makes a file, or the test ends.
func putFile(t *testing.T, name string, text []byte, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, text, mode)); err != nil {
		t.Fatal(err)
	}
}

// TestScriptPlaces calls the script in every way in which a container may have it: the directory
// that it was made for has another name there.
func TestScriptPlaces(t *testing.T) {
	base := t.TempDir()
	serveSeven(t, base)
	text := Client{Command: "make", Dir: "/nonexistent"}.Script()
	script := filepath.Join(base, "requests", "make")
	putFile(t, script, text, 0o755)
	putFile(t, script+".pid", []byte("1\n"), 0o644)
	putFile(t, base+"/copy/make", text, 0o755)
	for _, name := range []string{"cat", "rm", "mv", "sleep", "readlink"} {
		putFile(t, base+"/proxied/"+name, []byte("#!/bin/sh\n>"+base+"/called\nexec make\n"), 0o755)
	}
	for name, to := range map[string]string{"link": script, "other": "link", "make": "../requests/make"} {
		if err := errors.Join(os.MkdirAll(base+"/links", 0o755), os.Symlink(to, filepath.Join(base, "links", name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, call, env string
		code            int
		says            string
	}{
		{"itself", script, "", 7, ""},
		{"through a link", base + "/links/link", "", 7, ""},
		{"through two links", base + "/links/other", "", 7, ""},
		{"through a relative link", base + "/links/make", "", 7, ""},
		{"by its name alone", "make", "PATH=" + base + "/links:" + os.Getenv("PATH"), 7, ""},
		{"a copy", base + "/copy/make", "", 125, "PROXY_DIR names the one of docker hostexec proxy"},
		{"a copy that is told", base + "/copy/make", "PROXY_DIR=" + base + "/requests", 7, ""},
		{"where its own tools are proxied", script, "PATH=" + base + "/proxied:" + base + "/links:" + os.Getenv("PATH"), 7, ""},
		{"in place of its own tools", script, "HOSTEXEC_WITHIN=1", 125, "found itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "env", tt.env, tt.call, "x")
			if tt.env == "" {
				cmd.Args = []string{tt.call, "x"}
				cmd.Path = tt.call
			}
			out, err := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != tt.code || !strings.Contains(string(out), tt.says) {
				t.Errorf("code %d, want %d: %v: %s", got, tt.code, err, out)
			}
			if _, err := os.Stat(base + "/called"); err == nil {
				t.Error("a proxied program was called")
			}
		})
	}
}

// TestRenew serves a directory that was deleted, or moved, and created again by the host or another
// process. Requests in the new one are answered, including one whose id begins with -.
func TestRenew(t *testing.T) {
	for name, lose := range map[string]func(at string) error{
		"deleted":          os.RemoveAll,
		"moved":            func(at string) error { return os.Rename(at, at+".old") },
		"moved and remade": func(at string) error { return errors.Join(os.Rename(at, at+".old"), os.Mkdir(at, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			serveSeven(t, base)
			at := filepath.Join(base, "requests")
			if err := lose(at); err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				id := filepath.Join(at, "-"+strings.Repeat("x", i))
				// A request that is made too early may lie in a directory that is replaced: it is made again.
				for os.WriteFile(id+".req", []byte("x\x00"), 0o600) != nil || !servedYet(id) {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
}

// servedYet waits for the answer to a request as long as the request exists.
func servedYet(id string) bool {
	for {
		if _, err := os.Stat(id + ".exit"); err == nil {
			return true
		}
		_, request := os.Stat(id + ".req")
		_, output := os.Stat(id + ".stdout")
		if request != nil && output != nil {
			return false
		}
		time.Sleep(time.Millisecond)
	}
}

// TestRecreateInterval deletes a directory again and again: the interval until it is created again
// grows.
func TestRecreateInterval(t *testing.T) {
	wait := newServedDir(RequestDir{}).wait
	for _, want := range []time.Duration{2, 4, 8, 16, 32, 60, 60} {
		if wait = nextWait(wait, wait); wait != want*time.Second {
			t.Errorf("waits %v, want %v", wait, want*time.Second)
		}
	}
	if got := nextWait(wait, maxRenewInterval+1); got != minRenewInterval {
		t.Errorf("later, it waits %v, want %v", got, minRenewInterval)
	}
}

// TestScriptDeleted checks that the script does not wait for an answer in a deleted directory, even
// if another directory has its name.
func TestScriptDeleted(t *testing.T) {
	requests := filepath.Join(t.TempDir(), "requests")
	script := filepath.Join(t.TempDir(), "make")
	putFile(t, script, Client{Command: "make", Dir: requests}.Script(), 0o755)
	if err := os.Mkdir(requests, 0o755); err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd := exec.CommandContext(t.Context(), script)
	cmd.Env, cmd.Stderr = append(os.Environ(), "PROXY_TIMEOUT=30"), &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		if all, _ := filepath.Glob(filepath.Join(requests, "*.req")); len(all) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := errors.Join(os.RemoveAll(requests), os.Mkdir(requests, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 125 || !strings.Contains(errs.String(), "the directory of requests was deleted") {
		t.Errorf("code %d, %q", code, errs.String())
	}
}
