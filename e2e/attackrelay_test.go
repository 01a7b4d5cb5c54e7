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

// TestIntegrationRelayNoise replaces the relay by a program that sends invalid data. The container
// cannot call, and the host goes on.
//
// Attack 165.
func TestIntegrationRelayNoise(t *testing.T) {
	h, _ := hostWithCanary(t)
	c := h.startUnknown(t)
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

// TestIntegrationAttackRelayCalls replaces the relay by a program that makes calls, reads no
// answers, and ends. A new relay follows, even if another process holds the old one's stdout.
//
// Attack 217.
func TestIntegrationAttackRelayCalls(t *testing.T) {
	h, _ := hostWithCanary(t)
	for name, mode := range map[string]string{"it ends": "20000", "a few calls": "3", "a child stays": "20000 child", "a child stays, no calls": "0 child"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			c := h.startUnknown(t)
			c.Session = strings.TrimSpace(h.Must(t, "hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", c.ID))
			want(t, "a call", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
			const plant = `cd /run/hostexec/bin && mv hostexec keep && printf '#!/bin/sh\nmv /run/hostexec/bin/keep /run/hostexec/bin/hostexec; >/ran; exec /probe relay %s\n' "$1" >hostexec && chmod 755 hostexec && kill -KILL "${@:2}"`
			want(t, "planted", c.Sh(t, plant, append([]string{mode}, c.relays(t)...)...).Code, 0)
			eventually(t, patience, "it is begun", func() bool { return c.Sh(t, "test -e /ran").Code == 0 })
			eventually(t, patience, "calls are answered again", func() bool { return c.Exec(t, "hsh", "-c", "echo called").Out == "called\n" })
		})
	}
}

// TestIntegrationAttackRelayEnded kills each relay as soon as it runs: the interval between new
// relays grows.
//
// Attack 168.
func TestIntegrationAttackRelayEnded(t *testing.T) {
	h, _ := hostWithCanary(t)
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

// TestIntegrationAttackDetach replaces the programs that detach runs in the container: they never
// end, write without end, or report success. Detach removes everything, and no call is answered
// afterwards.
//
// Attacks 169, 218.
func TestIntegrationAttackDetach(t *testing.T) {
	h, _ := hostWithCanary(t)
	for name, script := range map[string]string{"it never ends": "exec sleep 1000", "it speaks without end": "exec cat /dev/zero >&2", "it lies": "exit 0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			c := h.startUnknown(t)
			h.Must(t, "hostexec", "attach", "--detach", "--proxy", "htrue=/bin/true", c.ID)
			want(t, "planted", c.Sh(t, `cd /run/hostexec/bin && cp hostexec shim && rm hostexec && printf '#!/bin/sh\n%s\n' "$1" >hostexec && chmod 755 hostexec`, script).Code, 0)
			want(t, "detach", h.Must(t, "hostexec", "detach", c.ID), c.ID+"\n")
			want(t, "what is left", c.Sh(t, "ls -A /run/hostexec /run/hostexec/bin /usr/local/bin; ls -d /hostexec*").Out, "/run/hostexec:\nbin\n\n/run/hostexec/bin:\nshim\n\n/usr/local/bin:\n")
			if r := c.Exec(t, "/run/hostexec/bin/shim", "htrue"); r.Code != 125 {
				t.Errorf("a call: %v", r)
			}
		})
	}
}

// TestIntegrationAttackRemoved removes or replaces, as the container's root, the files that attach
// created. The session can be ended. If the paths are free again, the container can be attached
// again.
//
// Attack 218.
func TestIntegrationAttackRemoved(t *testing.T) {
	h, _ := hostWithCanary(t)
	const gone = " had no files of session "
	for name, tt := range map[string]struct {
		does   string
		code   int    // of detach
		says   string // on its stderr
		attach string // what attach says then; empty: it attaches
	}{
		"all of it":       {"rm -rf /run/hostexec", 0, "", ""},
		"links too":       {"rm -rf /run/hostexec /usr/local/bin", 0, gone, ""},
		"/run too":        {"rm -rf /run", 0, "", ""},
		"half of it":      {"rm -rf /run/hostexec/bin", 0, "", ""},
		"the relay's":     {"rm -rf /run/hostexec/relay", 0, "", ""},
		"closed":          {"rm -rf /run/hostexec; chmod 0 /run", 0, "", ""},
		"a file":          {"rm -rf /run/hostexec; echo >/run/hostexec", 0, "", "/run/hostexec in the container is no directory"},
		"directories":     {"rm -rf /run/hostexec; mkdir -p /run/hostexec/bin/hostexec/x /run/hostexec/relay/socket", 0, "", "rm -r /run/hostexec"},
		"a link":          {"mkdir /w/theirs && cp -a /run/hostexec/* /w/theirs/ && rm -rf /run/hostexec && ln -s /w/theirs /run/hostexec", 1, "the container still has /run/hostexec/", "/run/hostexec in the container is a symbolic link"},
		"a circle":        {"rm -rf /run/hostexec; ln -s hostexec /run/hostexec", 1, "rm -rf /run/hostexec", "rm -r /run/hostexec"},
		"by another user": {"chmod 1777 /run", 1, "/run in the container can be written by others", "/run in the container can be written by others"},
	} {
		t.Run(name, func(t *testing.T) {
			c := h.startUnknown(t)
			attach := []string{"hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", c.ID}
			h.Must(t, attach...)
			want(t, "a call", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n") // its relay is there
			want(t, "done", c.Sh(t, tt.does).Code, 0)
			r := h.Docker(t, "hostexec", "detach", c.ID)
			if r.Code != tt.code || (tt.says == "") != (r.Err == "") || !strings.Contains(r.Err, tt.says) {
				t.Errorf("detach: %v, want %d and %q", r, tt.code, tt.says)
			}
			if name == "a link" {
				want(t, "what it leads to", c.Sh(t, "cd /w/theirs && ls carrier bin/hostexec bin/hsh; rm -r /w/theirs").Out, "bin/hostexec\nbin/hsh\ncarrier\n")
			}
			want(t, "sessions", strings.Contains(h.Must(t, "hostexec", "status", "-a", "--format", "{{.ContainerID}}"), c.ID[:12]), false)
			r = h.Docker(t, attach...)
			if r.Code != 0 && tt.attach == "" || !strings.Contains(r.Err, tt.attach) {
				t.Errorf("attach: %v, want %q", r, tt.attach)
			}
			if tt.attach == "" {
				want(t, "a call again", c.Exec(t, "/run/hostexec/bin/hsh", "-c", "echo called").Out, "called\n")
				h.Must(t, "hostexec", "detach", c.ID)
			}
		})
	}
}

// TestIntegrationAttackAttachAgain attaches a container whose root has removed the files of an
// earlier attach.
//
// Attack 218.
func TestIntegrationAttackAttachAgain(t *testing.T) {
	h, _ := hostWithCanary(t)
	c := h.startUnknown(t)
	attach := []string{"hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", c.ID}
	first := strings.TrimSpace(h.Must(t, attach...))
	want(t, "a call", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	want(t, "removed", c.Sh(t, "rm -rf /run/hostexec").Code, 0)
	second := strings.TrimSpace(h.Must(t, attach...))
	want(t, "a call again", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	all := h.Must(t, "hostexec", "status", "-aq")
	if strings.Contains(all, first) || !strings.Contains(all, second) {
		t.Errorf("sessions: %q, want %s and not %s", all, second, first)
	}
	h.Must(t, "pause", c.ID)
	r := h.Docker(t, "hostexec", "detach", c.ID)
	want(t, "paused: code", r.Code, 1)
	want(t, "paused: it says so", strings.Contains(r.Err, " is paused") && strings.Contains(r.Err, "hostexec: hint: "), true)
	h.Must(t, "unpause", c.ID)
	h.Must(t, "hostexec", "detach", c.ID)
	want(t, "what is left", c.Sh(t, "ls -dA /hostexec* /run/hostexec /usr/local/bin/*").Out, "")

	small := h.startUnknown(t)
	h.Must(t, "hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", small.ID)
	h.Must(t, "update", "--pids-limit", "1", small.ID)
	r = h.Docker(t, "hostexec", "detach", small.ID)
	want(t, "full of processes: code", r.Code, 1)
	want(t, "full of processes: it says so", strings.Contains(r.Err, "no process can be started in the container") && strings.Contains(r.Err, "hostexec: hint: "), true)
	h.Must(t, "update", "--pids-limit", "100", small.ID)
	h.Must(t, "hostexec", "detach", small.ID)
	want(t, "what is left there", small.Sh(t, "ls -dA /hostexec* /run/hostexec /usr/local/bin/*").Out, "")
}

// TestIntegrationAttackAttach attaches containers that could change hostexec's state or programs.
//
// Attack 171.
func TestIntegrationAttackAttach(t *testing.T) {
	h, _ := hostWithCanary(t)
	tool := h.Write(t, h.Work, "tool", "#!/bin/sh\necho RAN\n", 0o755)
	for name, tt := range map[string]struct{ mount, path, says string }{
		"the state": {h.State + ":/state", "/bin/true", "covers hostexec's own state"},
		"a program": {h.Work + ":/again", tool, "could change"},
	} {
		c := h.startUnknown(t, "-v", tt.mount)
		r := h.Docker(t, "hostexec", "attach", "--detach", "--proxy", "x="+tt.path, c.ID)
		want(t, name+": code", r.Code, 125)
		want(t, name+": it says why", strings.Contains(r.Err, tt.says), true)
		want(t, name+": what is left", c.Sh(t, "ls -A /run/hostexec /usr/local/bin 2>/dev/null").Out, "/usr/local/bin:\n")
	}
}

// TestIntegrationAttackOwner checks that root executes no file in a container that another user
// owns or can write: attach refuses, and an attached container loses its calls as root.
//
// Attack 170.
func TestIntegrationAttackOwner(t *testing.T) {
	h, _ := hostWithCanary(t)
	for name, tt := range map[string]struct{ plant, other, end, says string }{
		"/run":       {"mkdir -p /run && chmod 1777 /run", "", "", "/run in the container can be written by others"},
		"a group":    {"mkdir -p /run/hostexec && chmod 775 /run/hostexec", "", "", "/run/hostexec in the container can be written by others"},
		"an owner":   {"mkdir -p /run/hostexec && chmod 777 /run/hostexec", "mkdir /run/hostexec/bin", "chmod 755 /run/hostexec", "/run/hostexec/bin in the container belongs to user 1000"},
		"a link":     {"mkdir -p /x && rm -rf /run && ln -s /x /run", "", "", "/run in the container is a symbolic link"},
		"the root's": {"chmod 777 /", "", "", "/ in the container can be written by others"},
	} {
		c := h.startUnknown(t)
		want(t, name+": planted", c.Sh(t, tt.plant).Code+c.As("1000").Sh(t, tt.other).Code+c.Sh(t, tt.end).Code, 0)
		r := h.Docker(t, "hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", c.ID)
		want(t, name+": code", r.Code, 125)
		if !strings.Contains(r.Err, tt.says) || !strings.Contains(r.Err, "hostexec: hint: ") {
			t.Errorf("%s: %v, want it to say %q", name, r, tt.says)
		}
	}
	c := h.startUnknown(t)
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
