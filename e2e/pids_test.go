// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

const (
	noProcess = "hostexec: no process can be started in the container: has it reached its limit, --pids-limit?\n"
	noThread  = "hostexec: no process or thread is left here: see --pids-limit of docker run, ulimit -u\n"
)

// TestIntegrationPidsRelay checks what a call says in a container that has room for the caller, but not for the relay.
func TestIntegrationPidsRelay(t *testing.T) {
	h := newHost(t, false)
	run := func() Result {
		r := h.Run(t, "--rm", "--carrier", "relay", "--pids-limit", "5", "--proxy", "hsh=/bin/sh", image(t, "full"), "hsh", "-c", "echo ran")
		want(t, "it did not run", r.Out, "")
		want(t, "code", r.Code, 125)
		return r
	}
	r := run()
	for range 4 {
		if r.Err != noThread { // the engine was just starting a relay, so the caller itself got no thread
			break
		}
		r = run()
	}
	if !strings.Contains(r.Err, noProcess) || strings.Contains(r.Err, "resume") {
		t.Errorf("stderr = %q, want %q and nothing of resume", r.Err, noProcess)
	}
}

// TestIntegrationPidsAttach checks that attach refuses a container with no room for a shim, and leaves nothing in it.
func TestIntegrationPidsAttach(t *testing.T) {
	h := newHost(t, false)
	id := strings.TrimSpace(h.Must(t, "run", "-d", "--label", runLabel, "--pids-limit", "2", image(t, "full"), "sleep", "600")) // one thread
	t.Cleanup(func() { h.Docker(t, "rm", "-f", "-v", id) })
	c := &Container{Host: h, ID: id, User: "0"}
	attach := []string{"hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", c.ID}
	r := h.Docker(t, attach...)
	want(t, "code", r.Code, 125)
	for _, part := range []string{"no process can be started in the container", "1 of 2 are in use", "hostexec: hint: "} {
		if !strings.Contains(r.Err, part) {
			t.Errorf("stderr = %q, want %q in it", r.Err, part)
		}
	}
	h.Must(t, "update", "--pids-limit", "100", c.ID)
	want(t, "what is left", c.Sh(t, "ls -dA /run/hostexec /usr/local/bin/*").Out, "")
	h.Must(t, attach...)
	want(t, "a call", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
}
