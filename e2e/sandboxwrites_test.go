// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIntegrationSandboxWritesOfOthers has code in a sandbox of one session write a program, and replace a directory, that
// another session uses. Only the project of the first session has the path of write.
//
// Attack 282.
func TestIntegrationSandboxWritesOfOthers(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	if !sandboxed(t, h) {
		return
	}
	at, private := filepath.Join(h.Home, "own"), filepath.Join(h.Home, "private")
	elsewhere := &Host{Name: h.Name, Home: h.Home, State: h.State, Work: filepath.Join(h.Home, "elsewhere"), Env: h.Env}
	for _, dir := range []string{private, at, filepath.Join(at, "read"), filepath.Join(h.State, "projects"), elsewhere.Work} {
		h.mkdir(t, dir)
	}
	h.Write(t, private, "secret", "of the host\n", 0o600)
	tool := h.Write(t, at, "tool", "#!/bin/sh\necho tool\n", 0o755)
	h.Write(t, h.State, "config.yaml", "version: 1\ncommands:\n  reads: {where: sandbox, sandbox: {read: ["+at+"/read]}}\n", 0o600)
	own := "version: 1\nproject: " + h.Work + "\ncommands:\n  own: {where: sandbox, sandbox: {write: [" + at + "]}}\n"

	other := elsewhere.Holding(t, "--proxy", "tool="+tool, "--proxy", "reads=/bin/sh")
	want(t, "a program that no sandbox can write", other.Exec(t, "tool").Out, "tool\n")
	h.Write(t, filepath.Join(h.State, "projects"), "work.yaml", own, 0o600)
	writer := h.Holding(t, "--proxy", "own=/bin/sh")
	if r := writer.Exec(t, "own", "-c", "echo echo ours >>"+tool+" && mv "+at+"/read "+at+"/old && ln -s "+private+" "+at+"/read"); r.Code != 0 {
		t.Fatal(r)
	}
	if r := other.Exec(t, "tool"); r.Code == 0 || r.Out != "" || !strings.Contains(r.Err, "by a command in a sandbox") {
		t.Errorf("a program that the sandbox of another session can write: %v", r)
	}
	if r := other.Exec(t, "reads", "-c", "cat "+private+"/secret"); r.Code == 0 || r.Out != "" || !strings.Contains(r.Err, "a sandbox can replace ") {
		t.Errorf("a directory that the sandbox of another session can replace: %v", r)
	}
}

// TestIntegrationSandboxWritesDeciding has paths of write that contain files which decide which code runs on the host.
//
// Attack 283.
func TestIntegrationSandboxWritesDeciding(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	if !sandboxed(t, h) {
		return
	}
	dirs := map[string]string{}
	for _, name := range []string{"notify", "dotfiles", "docker"} {
		dirs[name] = filepath.Join(h.Home, name)
		h.mkdir(t, dirs[name])
	}
	notifier := h.Write(t, dirs["notify"], "notifier", "#!/bin/sh\n", 0o755)
	config := "version: 1\nnotify: {command: [" + notifier + "]}\ncommands:\n"
	var flags []string
	for name, dir := range dirs {
		config += "  " + name + ": {where: sandbox, sandbox: {write: [" + dir + "]}}\n"
		flags = append(flags, "--proxy", name+"=/bin/sh")
	}
	check(t, os.Symlink(h.Write(t, dirs["dotfiles"], "config.yaml", config, 0o600), filepath.Join(h.State, "config.yaml")))
	c := h.Holding(t, flags...)
	for name, text := range map[string]string{"notify": "notifies you of requests", "dotfiles": "says what it may run"} {
		if r := c.Exec(t, name, "-c", "echo ran"); r.Code == 0 || r.Out != "" || !strings.Contains(r.Err, text) {
			t.Errorf("%s: %v, want %q", name, r, text)
		}
	}
	want(t, "another directory", c.Exec(t, "docker", "-c", "echo ran").Out, "ran\n")
}
