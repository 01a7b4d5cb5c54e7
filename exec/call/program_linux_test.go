// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// TestFindProgram checks rules that name programs whose interpreters are the container's, by their
// #! line or by the rule's PATH, and one that becomes so later.
//
// Attack 214.
func TestFindProgram(t *testing.T) {
	base := t.TempDir()
	work, bin := filepath.Join(base, "work"), filepath.Join(base, "bin")
	for _, d := range []string{work, bin} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, text string) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	theirs := write(filepath.Join(work, "python3"), "#!/bin/sh\n")
	tool := write(filepath.Join(bin, "tool"), "#!/bin/sh\n")
	dirs, err := mount.NewTable([]mount.Point{{Target: "/w", Source: work, Bind: true}}, mount.Default{})
	if err != nil {
		t.Fatal(err)
	}
	defer dirs.Close()
	s := &Server{}
	s.SetConfig(&SessionConfig{Dirs: dirs, Environ: []string{"PATH=" + bin}})
	find := func(path string, set map[string]string) error {
		v := policy.Verdict{Command: policy.Command{Name: "x", Path: path}, Env: policy.Env{Set: set}}
		err := s.Config().findProgram(&v)
		if p, ok := v.Env.Set["PATH"]; ok && strings.Contains(p, work) {
			t.Errorf("PATH of the rule is %q", p)
		}
		return err
	}
	if err := find(tool, map[string]string{"PATH": work + ":" + bin}); err != nil {
		t.Errorf("a script of sh: %v", err)
	}
	write(tool, "#!"+theirs+"\n# longer\n")
	for name, path := range map[string]string{"itself": theirs, "changed": tool, "env": write(filepath.Join(bin, "env-tool"), "#!/usr/bin/env -S A=1 "+theirs+"\n")} {
		if err := find(path, nil); err == nil || !strings.Contains(err.Error(), "the container could change") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := find(write(filepath.Join(bin, "by-name"), "#!/usr/bin/env python3\n"), map[string]string{"PATH": work}); err != nil {
		t.Errorf("what is found outside of the mount, if at all: %v", err)
	}
	dirs.AddWritable([]mount.Point{{Source: bin}})
	sc := *s.Config()
	s.SetConfig(&sc)
	if err := find(filepath.Join(bin, "by-name"), nil); err == nil {
		t.Error("a program that another container can write runs")
	}
}

// TestSlowProgram checks a program while another one, such as a file on a server that is down, cannot be opened. A call
// of it delayed all other calls of the session.
func TestSlowProgram(t *testing.T) {
	dirs, err := mount.NewTable(nil, mount.Default{})
	if err != nil {
		t.Fatal(err)
	}
	defer dirs.Close()
	var p programs
	var digests digestCache
	for name, check := range map[string]func(path string) error{
		"its code":   func(path string) error { return p.checkUnchangeable(path, "", dirs) },
		"its digest": func(path string) error { _, err := digests.of(path); return err },
	} {
		t.Run(name, func(t *testing.T) {
			slow := filepath.Join(t.TempDir(), "slow")
			if err := os.WriteFile(slow, []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			opened, allow := delayOpens(t, slow)
			stuck, other := make(chan error, 1), make(chan error, 1)
			// ends when the test allows the program to be opened.
			go func() { stuck <- check(slow) }()
			opened()
			// ends when the program was checked.
			go func() { other <- check("/bin/sh") }()
			var err error
			select {
			case err = <-other:
			case <-time.After(10 * time.Second):
				t.Error("the check of another program waits")
			}
			allow()
			if err := errors.Join(err, <-stuck); err != nil {
				t.Error(err)
			}
		})
	}
}

// delayOpens delays each open of a file (fanotify(7)). opened waits for the first one, and allow ends the delays.
func delayOpens(t *testing.T, path string) (opened, allow func()) {
	t.Helper()
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY)
	if errors.Is(err, unix.EPERM) {
		t.Fatal("only root can delay the opens of a file: run the tests as root, or leave this one out by name")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, path); err != nil {
		unix.Close(fd)
		t.Fatal(err)
	}
	opened = func() {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		for errors.Is(err, unix.EINTR) {
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		}
		if err != nil {
			t.Error(err)
		}
	}
	return opened, func() { unix.Close(fd) } // the kernel then allows what waits
}

// TestFindProgramOfSandbox checks a program on the host that a command in a sandbox can write, because of the policy.
//
// Attack 278.
func TestFindProgramOfSandbox(t *testing.T) {
	own, bin := t.TempDir(), t.TempDir()
	write := func(path, text string) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	theirs := write(filepath.Join(own, "x"), "#!/bin/sh\n")
	s := &Server{}
	s.SetConfig(&SessionConfig{Environ: []string{"PATH=" + own + ":" + bin, "BASH_ENV=" + theirs}, Policy: &policy.Policy{Rules: map[string]policy.Ruleset{"make": {Sandbox: policy.Sandbox{Write: []string{own}}}}}})
	for _, tt := range []struct {
		name, path string
		place      policy.Place
		refused    bool
	}{
		{"itself", theirs, policy.Place{}, true},
		{"its interpreter", write(filepath.Join(bin, "script"), "#!"+theirs+"\n"), policy.Place{}, true},
		{"in a sandbox", theirs, policy.Place{Sandboxed: true}, false},
		{"elsewhere", write(filepath.Join(bin, "y"), "#!/bin/sh\n"), policy.Place{}, false},
	} {
		v := policy.Verdict{Command: policy.Command{Name: "x", Path: tt.path}, Place: tt.place, Streams: policy.Streams{Whole: true}}
		if err := s.Config().findProgram(&v); (err != nil) != tt.refused || err != nil && !strings.Contains(err.Error(), "in a sandbox") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if env := s.Config().HostEnviron(); !slices.Equal(env, []string{"PATH=" + bin}) {
		t.Errorf("the environment of commands on the host is %q", env)
	}
}
