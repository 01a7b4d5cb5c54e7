// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Attacks on what a session has in a container: its relay, and what attach has put there.

// TestIntegrationRelayNoise has a container say what no relay says where its relay should be:
// it is not reached, and the host goes on.
func TestIntegrationRelayNoise(t *testing.T) {
	h, _ := victim(t)
	c := h.standing(t)
	c.Session = strings.TrimSpace(h.Must(t, "hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", c.ID))
	want(t, "a call", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n") // its relay is there
	const plant = `cd /run/hostexec/bin && cp hostexec keep && printf '%s' "$1" >new && chmod 755 new && mv new hostexec && kill -KILL "${@:2}"`
	for name, script := range map[string]string{
		"nothing": "#!/bin/sh\nexit 0\n", "escapes": "#!/bin/sh\nprintf '\\033[2J%0900d' 0\n", "without end": "#!/bin/sh\nexec cat /dev/zero\n",
		"no program": "x", "a hello of another": "#!/bin/sh\nprintf '\\0\\0\\0\\0\\0\\0\\0\\003\\001\\0\\377'\nexec cat\n",
	} {
		want(t, name+": planted", c.Sh(t, plant, append([]string{script}, c.relays(t)...)...).Code, 0)
		eventually(t, patience, name+": it is seen", func() bool { carrier, _ := h.reached(t, c); return carrier == "undecided" })
		wantPlain(t, name, h.Must(t, "hostexec", "status")+h.Must(t, "hostexec", "logs", c.Session))
		c.Sh(t, `cd /run/hostexec/bin && mv keep hostexec`)
		eventually(t, patience, name+": calls are answered again", func() bool { return c.Exec(t, "hsh", "-c", "echo called").Out == "called\n" })
	}
}

// TestIntegrationAttackRelayEnded kills each relay as soon as it is there: the next ones are
// begun more and more seldom.
func TestIntegrationAttackRelayEnded(t *testing.T) {
	h, _ := victim(t)
	c := h.Holding(t, append(proxies(t), "--carrier", "relay")...)
	want(t, "a call", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	start := time.Now()
	c.Long(t, `for i in {1..100}; do for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline 2>/dev/null | grep -q '^/run/hostexec/bin/hostexec relay ' && kill -KILL ${p#/proc/}; done; sleep 0.05; done; true`)
	took := time.Since(start)
	ended := strings.Count(h.Must(t, "hostexec", "logs", c.Session), "the relay has ended, and another one is on its way")
	if most := 7 + int(took/time.Second); ended > most || ended < 2 {
		t.Errorf("%d relays were ended in %s, want %d at most", ended, took, most)
	}
	want(t, "a call after that", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
}

// TestIntegrationAttackDetach has what detach calls in the container never end, and speak
// without end: detach does, says so, and no call is answered any more.
func TestIntegrationAttackDetach(t *testing.T) {
	h, _ := victim(t)
	for name, script := range map[string]string{"it never ends": "exec sleep 1000", "it speaks without end": "exec cat /dev/zero >&2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			c := h.standing(t)
			h.Must(t, "hostexec", "attach", "--detach", "--proxy", "htrue=/bin/true", c.ID)
			want(t, "planted", c.Sh(t, `cd /run/hostexec/bin && cp hostexec shim && rm hostexec && printf '#!/bin/sh\n%s\n' "$1" >hostexec && chmod 755 hostexec`, script).Code, 0)
			r := h.Docker(t, "hostexec", "detach", c.ID)
			want(t, "code", r.Code, 1)
			want(t, "it says why", strings.HasPrefix(r.Err, "hostexec: remove the shims: the container's hostexec "), true)
			if r := c.Exec(t, "/run/hostexec/bin/shim", "htrue"); r.Code != 125 {
				t.Errorf("a call: %v", r)
			}
		})
	}
}

// TestIntegrationAttackAttach attaches containers that could reach what decides over them.
func TestIntegrationAttackAttach(t *testing.T) {
	h, _ := victim(t)
	tool := h.Write(t, h.Work, "tool", "#!/bin/sh\necho RAN\n", 0o755)
	for name, tt := range map[string]struct{ mount, path, says string }{
		"the state": {h.State + ":/state", "/bin/true", "covers hostexec's own state"},
		"a program": {h.Work + ":/again", tool, "could change"},
	} {
		c := h.standing(t, "-v", tt.mount)
		r := h.Docker(t, "hostexec", "attach", "--detach", "--proxy", "x="+tt.path, c.ID)
		want(t, name+": code", r.Code, 125)
		want(t, name+": it says why", strings.Contains(r.Err, tt.says), true)
		want(t, name+": what is left", c.Sh(t, "ls -A /run/hostexec /usr/local/bin 2>/dev/null").Out, "/usr/local/bin:\n")
	}
}

// TestIntegrationAttackOwner has others than root own, or write, what root would execute in a
// container: it is not attached, and what was attached is not called as root any more.
func TestIntegrationAttackOwner(t *testing.T) {
	h, _ := victim(t)
	for name, tt := range map[string]struct{ plant, other, end, says string }{
		"/run":       {"mkdir -p /run && chmod 1777 /run", "", "", "/run in the container can be written by others"},
		"a group":    {"mkdir -p /run/hostexec && chmod 775 /run/hostexec", "", "", "/run/hostexec in the container can be written by others"},
		"an owner":   {"mkdir -p /run/hostexec && chmod 777 /run/hostexec", "mkdir /run/hostexec/bin", "chmod 755 /run/hostexec", "/run/hostexec/bin in the container belongs to user 1000"},
		"a link":     {"mkdir -p /x && rm -rf /run && ln -s /x /run", "", "", "/run in the container is a symbolic link"},
		"the root's": {"chmod 777 /", "", "", "/ in the container can be written by others"},
	} {
		c := h.standing(t)
		want(t, name+": planted", c.Sh(t, tt.plant).Code+c.As("1000").Sh(t, tt.other).Code+c.Sh(t, tt.end).Code, 0)
		r := h.Docker(t, "hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", c.ID)
		want(t, name+": code", r.Code, 125)
		if !strings.Contains(r.Err, tt.says) || !strings.Contains(r.Err, "hostexec: hint: ") {
			t.Errorf("%s: %v, want it to say %q", name, r, tt.says)
		}
	}
	c := h.standing(t)
	c.Session = strings.TrimSpace(h.Must(t, "hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", c.ID))
	want(t, "a call", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	want(t, "opened", c.Sh(t, "chmod 777 /run /run/hostexec /run/hostexec/bin && kill -KILL \"$@\"", c.relays(t)...).Code, 0)
	const plant = `cd /run/hostexec/bin && mv hostexec kept && printf '#!/bin/sh\nid -u >/w/ran\n' >hostexec && chmod 755 hostexec`
	want(t, "planted", c.As("1000").Sh(t, plant).Code, 0)
	eventually(t, patience, "the relay is not begun", func() bool {
		return strings.Contains(h.Must(t, "hostexec", "logs", c.Session), "can be written by others")
	})
	r := h.Docker(t, "hostexec", "detach", c.ID)
	want(t, "detach: code", r.Code, 1)
	want(t, "detach: it says why", strings.HasPrefix(r.Err, "hostexec: remove the shims: /run in the container can be written by others"), true)
	if _, err := os.Stat(filepath.Join(h.Work, "ran")); err == nil {
		t.Error("it ran as root")
	}
	want(t, "closed again", c.Sh(t, "rm -r /run/hostexec; chmod 755 /run").Code, 0)
}
