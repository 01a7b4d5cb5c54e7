// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// TestIntegrationInjection makes a call in containers of all kinds, given by the flags of docker
// run and the command.
func TestIntegrationInjection(t *testing.T) {
	const call = "hsh -c 'echo called'"
	sh := []string{"sh", "-c", call}
	tests := []struct {
		name, image string
		flags, cmd  []string
	}{
		{"plain", "busybox", nil, sh},
		{"--read-only", "busybox", []string{"--read-only"}, sh},
		{"--user", "busybox", []string{"--user", "1000"}, sh},
		{"--user nobody knows", "busybox", []string{"--user", "65534:65534"}, sh},
		{"--network none", "busybox", []string{"--network", "none"}, sh},
		{"--network host", "busybox", []string{"--network", "host"}, sh},
		{"--cap-drop ALL", "busybox", []string{"--cap-drop", "ALL"}, sh},
		{"no-new-privileges", "busybox", []string{"--security-opt", "no-new-privileges"}, sh},
		{"all of them", "busybox", []string{"--read-only", "--user", "1000", "--network", "none", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--init"}, sh},
		{"--init", "busybox", []string{"--init"}, sh},
		{"--pid host", "busybox", []string{"--pid", "host"}, sh},
		{"--ipc host", "busybox", []string{"--ipc", "host"}, sh},
		{"--hostname", "busybox", []string{"--hostname", "box"}, sh},
		{"--tmpfs /run", "busybox", []string{"--tmpfs", "/run"}, sh},
		{"a volume at /usr/local", "busybox", []string{"--tmpfs", "/usr/local"}, sh},
		{"--entrypoint, a command of the host's", "busybox", []string{"--entrypoint", "hsh"}, []string{"-c", "echo called"}},
		{"the command is the host's", "busybox", nil, []string{"hsh", "-c", "echo called"}},
		{"an empty environment", "busybox", nil, []string{"env", "-i", "/run/hostexec/bin/hsh", "-c", "echo called"}},
		{"env -i", "busybox", nil, []string{"env", "-i", "PATH=/usr/local/bin:/bin", "sh", "-c", call}},
		{"-e PATH", "busybox", []string{"-e", "PATH=/bin"}, sh},
		{"-t", "busybox", []string{"-t"}, sh},
		{"no PATH in the image", "empty", []string{"--entrypoint", "hsh"}, []string{"-c", "echo called"}},
		{"FROM scratch", "empty", nil, []string{"calls", "1", "hsh", "-c", "echo called >&2"}},
		{"FROM scratch, all flags", "empty", []string{"--read-only", "--user", "65534", "--network", "none", "--cap-drop", "ALL"}, []string{"calls", "1", "hsh", "-c", "echo called >&2"}},
		{"bash -l", "full", nil, []string{"bash", "-lc", call}},
		{"su -", "full", nil, []string{"su", "-", "root", "-c", call}},
		{"su - user", "full", nil, []string{"su", "-", "user", "-c", call}},
		{"setsid", "full", nil, []string{"setsid", "-w", "hsh", "-c", "echo called"}},
		{"nohup", "full", nil, []string{"nohup", "hsh", "-c", "echo called"}},
		{"timeout", "full", nil, []string{"timeout", "10", "hsh", "-c", "echo called"}},
		{"script", "full", nil, []string{"script", "-qc", call, "/dev/null"}},
	}
	for _, h := range anyUser(t) {
		for _, tt := range tests {
			t.Run(h.Name+"/"+tt.name, func(t *testing.T) {
				args := append([]string{"--rm", "--proxy", "hsh=/bin/sh"}, tt.flags...)
				args = append(append(args, image(t, tt.image)), tt.cmd...)
				r := h.Run(t, args...)
				// A terminal may show more around it: script(1) passes on the end of its stdin.
				if r.Code != 0 || !strings.Contains(r.Out+r.Err, "called") {
					t.Errorf("%v", r)
				}
			})
		}
	}
}

// TestIntegrationReadOnlyShare tries to change the injected files as root of the container: all
// attempts fail, and the next call works.
//
// Attacks 22, 42, 127.
func TestIntegrationReadOnlyShare(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		for _, script := range []string{
			`echo x >/run/hostexec/new`, `rm /run/hostexec/socket`, `rm /run/hostexec/bin/hsh`, `echo x >>/run/hostexec/bin/hostexec`,
			`mv /run/hostexec /run/other`, `/probe args >/run/hostexec/carrier`, `touch /run/hostexec/bin/hostexec`,
		} {
			if r := c.Sh(t, script); r.Code == 0 {
				t.Errorf("%s succeeded", script)
			}
		}
		want(t, "a call", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	})
}

// TestIntegrationImageKeepsItsOwn checks that nothing hides the image's files in /usr/local/bin,
// and that nothing is put into a directory of the user.
func TestIntegrationImageKeepsItsOwn(t *testing.T) {
	h := newHost(t, false)
	r := h.Run(t, "--rm", "--proxy", "hsh=/bin/sh", "-v", h.Work+":/usr/local/bin", "-w", "/usr/local/bin", image(t, "busybox"), "sh", "-c", "ls /usr/local/bin; hsh -c 'echo called'")
	want(t, "the user's directory is empty, the call works", r.Out+r.Err, "called\n")
	r = h.Run(t, "--rm", "--proxy", "hsh=/bin/sh", image(t, "busybox"), "sh", "-c", "readlink /usr/local/bin/hsh")
	want(t, "the link for login shells", r.Out+r.Err, "/run/hostexec/bin/hsh\n")
	h.quiet(t, soon)
}

// TestIntegrationVolumesFrom checks that nothing is written into a volume of another container that
// is mounted where login shells look.
func TestIntegrationVolumesFrom(t *testing.T) {
	h := dockerUsers(t)[0]
	lender := strings.TrimSpace(h.Must(t, "create", "--label", runLabel, "-v", "/usr/local/bin", image(t, "full"), "true"))
	t.Cleanup(func() { h.Docker(t, "rm", "-f", "-v", lender) })
	for range 2 { // as an image that is seen first, and as one that is known
		r := h.Run(t, "--rm", "--volumes-from", lender, "--proxy", "hsh=/bin/sh", image(t, "full"), "bash", "-c", "hsh -c 'echo called'; ls /usr/local/bin")
		if !strings.HasPrefix(r.Out, "called\n") || strings.Contains(r.Out, "hsh") || strings.Contains(r.Out, "hostexec") {
			t.Errorf("with a lent /usr/local/bin: %v", r)
		}
	}
}

// TestIntegrationNoProcessLeft starts a shim in a container that may start no more processes. The
// shim prints one line, and no trace of Go's runtime.
func TestIntegrationNoProcessLeft(t *testing.T) {
	h := anyUser(t)[0]
	r := h.Run(t, "--rm", "--pids-limit", "1", "--proxy", "hsh=/bin/sh", "--entrypoint", "/run/hostexec/bin/hsh", image(t, "empty"), "-c", "echo ran")
	want(t, "it fails", r.String(), Result{Err: "hostexec: no process or thread is left here: see --pids-limit of docker run, ulimit -u\n", Code: 125}.String())
}
