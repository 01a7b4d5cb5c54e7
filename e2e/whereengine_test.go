// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestIntegrationWhereEngine runs a session's commands on another engine than its container's, by
// --proxy and by config.yaml. It checks an engine that is absent, stops, and starts again.
//
// Attacks 204, 209.
func TestIntegrationWhereEngine(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("a second engine can only be started by root: run the integration tests as root, or leave this one out by name")
	}
	t.Parallel() // most of it is waiting
	e := newEngine(t)
	host := "unix://" + e.socket()
	for _, ordinary := range userKinds() {
		h := newHost(t, ordinary)
		h.Write(t, h.State, "config.yaml", fmt.Sprintf("commands: {sh: {where: 'container:%s', exec: /bin/sh, container: {docker_host: '%s'}}}\n", engineRef, host), 0o600)
		in := ",where=container:" + engineRef + ",docker_host="
		// busybox is what it is called.
		c := h.Holding(t, "--proxy", "ash=/bin/sh"+in+host, "--proxy", "sh", "--proxy", "here=/bin/sh,where=container:"+engineRef,
			"--proxy", "nowhere=/bin/sh"+in+"unix:///nonexistent/docker.sock", "--proxy", "lost=/bin/sh,where=container:"+image(t, "full")+",docker_host="+host)
		t.Run(h.Name+"/elsewhere", func(t *testing.T) { elsewhere(t, c, host) })
		t.Run(h.Name+"/not to be had", func(t *testing.T) { engineUnavailable(t, c, host) })
		t.Run(h.Name+"/restarted", func(t *testing.T) { restarted(t, c, e) })
		t.Run(h.Name+"/left over", func(t *testing.T) {
			id := h.leftover(t, []string{"--host", host}, "hostexec-"+unique("left"), engineRef)
			h.Must(t, "hostexec", "prune", "-f")
			want(t, "the leftover", h.Docker(t, "--host", host, "inspect", id).Code, 1)
		})
	}
}

// roomsAt lists the containers of the session's commands at another engine.
func (c *Container) roomsAt(t testing.TB, host string) []string {
	t.Helper()
	return strings.Fields(c.Host.Must(t, "--host", host, "ps", "-aq", "--filter", "label=io.hostexec.call="+c.Session))
}

// elsewhere makes calls that are answered there.
func elsewhere(t *testing.T, c *Container, host string) {
	for _, name := range []string{"ash", "sh"} {
		call := c.Start(t, name, "-c", "echo ready >&2; read -r a; echo got $a; exit 3")
		if name == "ash" {
			eventually(t, patience, "its container is there", func() bool { return len(c.roomsAt(t, host)) == 1 })
			want(t, "containers here", len(c.callContainers(t)), 0)
		}
		want(t, "code", call.Wait(t).Code, 3)
		r := c.Feed(t, "word\n", name, "-c", "read -r a; echo got $a >made; cat made; rm made; exit 4")
		want(t, "stdout", r.Out, "got word\n")
		want(t, "code", r.Code, 4)
	}
	wantText(t, c.Exec(t, "hostexec", "ls").Out, "container:"+engineRef+",docker_host="+host)
	if lines := c.Host.Audit(t, " START ", "docker_host="+host); len(lines) != 4 {
		t.Errorf("%d records of START tell where, want 4", len(lines))
	}
	eventually(t, grace, "none is left", func() bool { return len(c.roomsAt(t, host)) == 0 })
}

// engineUnavailable makes calls for which there is no engine or no image.
func engineUnavailable(t *testing.T, c *Container, host string) {
	for name, texts := range map[string][]string{
		"nowhere": {"the engine at unix:///nonexistent/docker.sock does not answer", "docker --host unix:///nonexistent/docker.sock info on the host"},
		"lost":    {"the engine at " + host + " has no image " + image(t, "full"), "docker --host " + host + " pull " + image(t, "full") + " on the host"},
		"here":    {"the engine has no image " + engineRef, "docker pull " + engineRef + " on the host: images are not pulled"},
	} {
		r := c.Exec(t, name, "-c", "echo out")
		want(t, name+": code", r.Code, 125)
		want(t, name+": stdout", r.Out, "")
		for _, text := range texts {
			wantText(t, r.Err, text)
		}
	}
}

// restarted stops the engine during a command, as an upgrade does, and kills it. The command
// continues, calls meanwhile get an error, and nothing stays. A restarted engine may remove
// containers with --rm at once.
func restarted(t *testing.T, c *Container, e *engine) {
	host := "unix://" + e.socket()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		long := c.Start(t, "ash", "-c", "echo ready; read -r a; echo got $a; sleep 1000 & wait")
		ends := c.Start(t, "ash", "-c", "echo ready; exec sleep 1000")
		want(t, "line", long.Line(t), "ready")
		want(t, "line", ends.Line(t), "ready")
		e.stop(t, sig)
		r := c.Exec(t, "ash", "-c", "echo out")
		want(t, "code without an engine", r.Code, 125)
		wantText(t, r.Err, "does not answer")
		fmt.Fprintln(long.In, "word")
		want(t, "line without an engine", long.Line(t), "got word")
		ends.Signal(t, "INT") // while nobody can remove its container
		want(t, "code", ends.Ended(t).Code, 130)
		e.start(t)
		want(t, "with it again", c.Exec(t, "ash", "-c", "echo out").Out, "out\n")
		c.Exec(t, "bash", "-c", "kill -TERM "+itoa(long.PID)) // it may have gone
		if code := long.Ended(t).Code; code != 143 && code != 137 {
			t.Errorf("code of the one from before = %d, want that of TERM or KILL", code)
		}
		eventually(t, leaves+grace, "none is left", func() bool { return len(c.roomsAt(t, host)) == 0 })
	}
}
