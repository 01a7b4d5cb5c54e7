// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// startUnknown starts a container that docker run made, and hostexec knows nothing of.
func (h *Host) startUnknown(t testing.TB, args ...string) *Container {
	t.Helper()
	args = append([]string{"run", "-d", "--label", runLabel, "-v", h.Work + ":/w", "-w", "/w"}, args...)
	id := strings.TrimSpace(h.Must(t, append(args, image(t, "full"), "/probe", "hold")...))
	t.Cleanup(func() { h.Docker(t, "rm", "-f", "-v", id) })
	return &Container{Host: h, ID: id, User: "0"}
}

// TestIntegrationAttach attaches to a running container, makes calls in it, and detaches.
func TestIntegrationAttach(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.startUnknown(t)
			const look = `ls -A /run /usr/local/bin; cat /usr/local/bin/taken`
			c.Sh(t, `mkdir -p /run /usr/local/bin; echo its own >/usr/local/bin/taken`)
			before := c.Sh(t, look).Out
			r := h.Docker(t, "hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", "--proxy", "taken=/bin/true", c.ID)
			want(t, "attach", r.Code, 0)
			want(t, "it says what has no link", strings.Contains(r.Err, "/usr/local/bin has its own taken"), true)
			c.Session = strings.TrimSpace(r.Out)

			for _, user := range []string{"0", "1000"} {
				want(t, user+": a call", c.As(user).Exec(t, "hsh", "-c", "pwd; exit 7").String(), Result{h.Work + "\n", "", 7}.String())
			}
			want(t, "by its own name", c.Sh(t, `hostexec taken; echo $?; cat /usr/local/bin/taken`).Out, "0\nits own\n")
			carrier, _ := h.reached(t, c)
			want(t, "carrier", carrier, "relay")
			again := h.Docker(t, "hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", c.ID)
			want(t, "twice", again.Code, 125)
			want(t, "twice", strings.Contains(again.Err, "is attached already: session "+c.Session), true)
			h.Must(t, "restart", "-t", "0", c.ID)
			want(t, "after a restart", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")

			call, tree := treeOfShell(t, c)
			h.Must(t, "hostexec", "detach", c.ID)
			want(t, "code of a call that ran", call.Ended(t).Code, 125)
			tree.Ends(t, grace)
			want(t, "what is left", c.Sh(t, look).Out, before)
			want(t, "sessions", strings.Contains(h.Must(t, "hostexec", "status", "-aq"), c.Session), false)
		})
	}
}

// TestIntegrationOneSession attaches to one container many times at once, and as a user with
// another state directory. The container gets one session, and the other attempts name it.
//
// Attack 160.
func TestIntegrationOneSession(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, os.Getuid() == 0)
	c := h.startUnknown(t, "--network", "none")
	attach := []string{"hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", c.ID}
	all := make([]Result, 4)
	var wg sync.WaitGroup
	for i := range all {
		// ends with docker; the test waits below.
		wg.Go(func() { all[i] = h.Docker(t, attach...) })
	}
	wg.Wait()
	for _, r := range all {
		if r.Code == 0 {
			c.Session += strings.TrimSpace(r.Out)
		}
	}
	if len(c.Session) != 12 {
		t.Fatalf("sessions: %q, want one: %v", c.Session, all)
	}
	for _, r := range all {
		if r.Code != 0 && !strings.Contains(r.Err, "is attached already: session "+c.Session+"\nhostexec: hint: docker hostexec detach ") {
			t.Errorf("another: %v", r)
		}
	}
	other := newHost(t, os.Getuid() == 0)
	r := other.Docker(t, attach...)
	want(t, "from elsewhere", r.Code, 125)
	want(t, "from elsewhere", strings.Contains(r.Err, "is attached already, by a session that is not in "+other.State), true)
	want(t, "a call", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	r = h.Docker(t, "hostexec", "resume", c.Session)
	want(t, "resume", r.Err, "hostexec: session "+c.Session+" is served already\n")

	c = h.Holding(t, "--network", "none", "--proxy", "htrue=/bin/true")
	r = h.Docker(t, "hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", c.ID)
	want(t, "attach of what run made", r.Code, 125)
	want(t, "attach of what run made", strings.Contains(r.Err, " was created with session "+c.Session+"\n"), true)
}

// treeOfShell is a call that keeps running, and its process on the host.
func treeOfShell(t testing.TB, c *Container) (*Call, *Proc) {
	t.Helper()
	call := c.Start(t, "hsh", "-c", `echo $$; exec sleep 1000`)
	return call, call.Host(t)
}

// TestIntegrationAttachInForeground attaches until ^C, until a detach in another terminal, and until the container ends.
func TestIntegrationAttachInForeground(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.startUnknown(t)
			for _, detach := range []func(m *Term){
				func(m *Term) { m.Type(t, "\x03") },
				func(*Term) { h.Must(t, "hostexec", "detach", c.ID) },
			} {
				m := h.term(t, "docker", "hostexec", "attach", "--proxy", "hsh=/bin/sh", c.ID)
				m.Expect(t, "\r\n")
				eventually(t, patience, "a call", func() bool { return c.Sh(t, "hsh -c 'echo called'").Out == "called\n" })
				detach(m)
				want(t, "code", m.Wait(t), 0)
				want(t, "what is left", c.Sh(t, "ls -A /run/hostexec /usr/local/bin 2>/dev/null").Out, "/usr/local/bin:\n")
			}
			m := h.term(t, "docker", "hostexec", "attach", "--proxy", "hsh=/bin/sh", c.ID)
			m.Expect(t, "\r\n")
			h.Must(t, "kill", c.ID)
			want(t, "code at the container's end", m.Wait(t), 0)
		})
	}
}

// TestIntegrationAttachRefused attaches containers that cannot be attached. Each error gives the
// reason and the next command.
func TestIntegrationAttachRefused(t *testing.T) {
	h := dockerUsers(t)[0]
	stopped := h.startUnknown(t)
	h.Must(t, "kill", stopped.ID)
	paused := h.startUnknown(t)
	h.Must(t, "pause", paused.ID)
	for _, tt := range []struct {
		name, says string
		c          *Container
	}{
		{"read-only", "is read-only: nothing can be copied into it\nhostexec: hint: create it with docker hostexec run", h.startUnknown(t, "--read-only")},
		{"a tmpfs over /run", "has a mount over /run/hostexec: nothing can be copied there", h.startUnknown(t, "--tmpfs", "/run")},
		{"stopped", "does not run: it is exited\nhostexec: hint: docker start ", stopped},
		{"paused", " is paused\nhostexec: hint: docker unpause ", paused},
		{"made by run", "\nhostexec: hint: it can call already; if its watcher has ended: docker hostexec resume ", h.Holding(t, "--proxy", "htrue=/bin/true")},
		{"none", "No such container", &Container{ID: "nosuchcontainer"}},
	} {
		r := h.Docker(t, "hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", tt.c.ID)
		want(t, tt.name+": code", r.Code, 125)
		if r.Out != "" || !strings.Contains(r.Err, tt.says) {
			t.Errorf("%s: %v, want it to say %q", tt.name, r, tt.says)
		}
	}
	own := h.Holding(t, "--proxy", "htrue=/bin/true")
	r := h.Docker(t, "hostexec", "detach", own.ID)
	want(t, "detach of what run made: code", r.Code, 1)
	want(t, "detach of what run made", strings.Contains(r.Err, "was not made by docker hostexec attach"), true)
	bare := h.startUnknown(t, "-e", "PATH=/bin:/usr/bin")
	r = h.Docker(t, "hostexec", "detach", bare.ID)
	want(t, "detach of what was never attached", r.String(), Result{Code: 1, Err: "hostexec: container " + bare.ID + " has no session\nhostexec: hint: docker hostexec status -a\n"}.String())
	r = h.Docker(t, "hostexec", "attach", "--detach", "--proxy", "htrue=/bin/true", bare.ID)
	want(t, "attach where commands are looked for elsewhere", r.Code, 0)
	want(t, "its warning", strings.Contains(r.Err, "commands are found in /run/hostexec/bin only: the container's PATH has no /usr/local/bin"), true)
	h.Must(t, "hostexec", "detach", bare.ID)
}
