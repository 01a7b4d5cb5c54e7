// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

// An exec that waits for the holder of a lease keeps no other start waiting, and goes on when the
// lease is given back.
func TestBlockedExec(t *testing.T) {
	elf, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	interpreter, giveBackInterpreter := exectest.LeasedProgram(t, elf)
	program, giveBack := exectest.LeasedProgram(t, elf)
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!"+interpreter+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path string
		giveBack   func()
	}{
		{"a program", program, giveBack},
		{"an interpreter", script, giveBackInterpreter},
	}
	p := newParent(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			type result struct {
				c   *Child
				err error
			}
			blocked := make(chan result, 1)
			// ends when the program was started; the end of the test waits for it.
			go func() {
				c, err := p.Start(context.Background(), StartConfig{ID: "blocked", Path: tt.path, Args: []string{"x"}})
				blocked <- result{c, err}
			}()
			exectest.Eventually(t, "its process is there", func() bool { return len(Tree("blocked")) == 1 })
			for range 3 {
				if ws := start(t, p, sh("exit 3")).Reap(); ws.ExitStatus() != 3 {
					t.Errorf("another command: %v, want exit 3", ws)
				}
			}
			select {
			case r := <-blocked:
				t.Errorf("the start did not wait: %v", r.err)
			default:
				tt.giveBack()
				r := <-blocked
				if r.err != nil {
					t.Fatal(r.err)
				}
				if ws := r.c.Reap(); ws.ExitStatus() != 0 {
					t.Errorf("the program ended with %v, want 0", ws)
				}
			}
		})
	}
}

// Whoever leaves while an exec waits leaves nothing behind, on a terminal either.
func TestBlockedExecIsGivenUp(t *testing.T) {
	p := newParent(t)
	gone := errors.New("the caller has gone")
	before := zombies(t) // of earlier tests
	for _, tty := range []bool{false, true} {
		program, _ := exectest.LeasedProgram(t, []byte("#!/bin/sh\n"))
		s := StartConfig{ID: "blocked", Path: program, Args: []string{"x"}}
		if tty {
			master, line, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer master.Close()
			defer line.Close()
			fd := int(line.Fd())
			s.TTY, s.Files = true, [3]int{fd, fd, fd}
		}
		ctx, leave := context.WithCancelCause(context.Background())
		failed := make(chan error, 1)
		// ends when the start is given up; the end of the test waits for it.
		go func() {
			_, err := p.Start(ctx, s)
			failed <- err
		}()
		exectest.Eventually(t, "its process is there", func() bool { return len(Tree("blocked")) > 0 })
		leave(gone)
		if err := <-failed; err != gone {
			t.Errorf("Start = %v, want %v", err, gone)
		}
		if left := Tree("blocked"); len(left) > 0 {
			t.Errorf("processes %v are left", left)
		}
		exectest.Eventually(t, "no zombie is left", func() bool { return zombies(t) <= before })
	}
}

// soft is the limit of descriptors of what this process starts. The runtime raises its own.
func soft(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-c", "ulimit -Sn").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// A start with an exec that may wait does what every start does.
func TestStartSlowExec(t *testing.T) {
	p := newParent(t)
	home := t.TempDir()
	dir, err := unix.Open(home, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("exit 4\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	limit := soft(t)
	slow := func(s StartConfig) (*Child, error) {
		return startSlow(context.Background(), p.strict, p.exits, s)
	}
	for i, script := range []string{
		`[ "$0" = zero ]`, `[ "$(pwd -P)" = "$1" ]`, `[ ! -e /proc/self/fd/3 ] && [ ! -e /proc/self/fd/4 ]`,
		`grep -q "^NoNewPrivs:.1" /proc/self/status`, `[ "$(ulimit -Sn)" = "$2" ]`,
	} {
		c, err := slow(StartConfig{ID: "slow", Path: "/bin/sh", Args: []string{"sh", "-c", script, "zero", home, limit}, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if ws := c.Reap(); ws.ExitStatus() != 0 {
			t.Errorf("%d. %s: %v, want exit 0", i, script, ws)
		}
	}
	if c, err := slow(StartConfig{Path: plain, Args: []string{"x"}}); err != nil || c.Reap().ExitStatus() != 4 {
		t.Errorf("a script without an interpreter: %v, want code 4", err)
	}
	for path, want := range map[string]error{"/no/such": fs.ErrNotExist, "/": fs.ErrPermission} {
		if _, err := slow(StartConfig{Path: path, Args: []string{"x"}}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

func TestInterpreter(t *testing.T) {
	for head, want := range map[string]string{
		"":                          "",
		"echo\n":                    "",
		"#!/bin/sh\n":               "/bin/sh",
		"#! /usr/bin/env python3\n": "/usr/bin/env",
		"#!relative":                "relative",
		"#!\n/bin/sh":               "",
		"\x7fELF":                   "",
	} {
		if got := interpreterOf(reads([]byte(head))); got != want {
			t.Errorf("interpreterOf(%q) = %q, want %q", head, got, want)
		}
	}
	elf, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if loader := interpreterOf(reads(elf)); !filepath.IsAbs(loader) {
		t.Errorf("the loader of /bin/sh is %q, want an absolute path", loader)
	}
}

func reads(program []byte) func([]byte, int64) []byte {
	return func(b []byte, at int64) []byte {
		return b[:copy(b, program[min(int(at), len(program)):])]
	}
}

// No program, however it was made, has interpreter read beyond its beginning.
func FuzzInterpreter(f *testing.F) {
	elf, err := os.ReadFile("/bin/sh")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(elf[:1024])
	f.Fuzz(func(_ *testing.T, head []byte) { interpreterOf(reads(head)) })
}

func BenchmarkPrompt(b *testing.B) {
	s := sh("")
	for b.Loop() {
		if !s.execsAtOnce() {
			b.Fatal("/bin/sh is on a slow file system")
		}
	}
}
