// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSplit(t *testing.T) {
	for name, want := range map[string]string{
		"a.req": "a req", "0f8e2022-4f5e-486f-8ec8-307ae65dd6ad.exit": "0f8e2022-4f5e-486f-8ec8-307ae65dd6ad exit",
		"a.req.tmp": "a req.tmp", "_.cmd": "_ cmd", strings.Repeat("x", 64) + ".req": strings.Repeat("x", 64) + " req",
		"": "", "a": "", ".req": "", "-a.req": "-a req", "-.req": "- req", "--.exit": "-- exit", "a.b": "", "a.req.x": "", "a..req": "", "../a.req": "", "a/b.req": "", "a b.req": "",
		"a\n.req": "", "ä.req": "", "a\x00.req": "", strings.Repeat("x", 65) + ".req": "", "make": "", "make.pid": "",
	} {
		id, what, ok := split(name)
		if got := strings.TrimSpace(id + " " + what); got != want || ok != (want != "") {
			t.Errorf("split(%q) = %q, %t, want %q", name, got, ok, want)
		}
	}
}

func TestFields(t *testing.T) {
	for text, want := range map[string][]string{
		"": {}, "\x00": {""}, "a": {"a"}, "a\x00": {"a"}, "a\x00b\x00": {"a", "b"}, "a\x00\x00": {"a", ""}, "\x00\x00": {"", ""}, "a b\n\x00": {"a b\n"},
	} {
		if got := fields([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("fields(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestNextPoll checks that polling is rare only after a notification of a request, and only if callers cannot delete
// the directory.
func TestNextPoll(t *testing.T) {
	renewable := func() (RequestDir, error) { return RequestDir{}, nil }
	for _, tt := range []struct {
		name       string
		work       bool // notifications
		announced  bool
		unfinished bool
		renew      func() (RequestDir, error)
		want       time.Duration
	}{
		{"no notifications", false, false, false, nil, pollInterval},
		{"only a test of notifications", true, false, false, nil, idleInterval},
		{"a request was announced", true, true, false, nil, maxReadInterval},
		{"it may be half written", true, true, true, nil, pollInterval},
		{"others can delete the directory", true, true, false, renewable, idleInterval},
	} {
		p := newServedDir(RequestDir{Renew: tt.renew})
		if tt.unfinished {
			p.unfinished["x"] = time.Now()
		}
		l := &Listener{dirs: []*servedDir{p}, eventsWork: tt.work, announced: tt.announced}
		if got := l.nextPoll(); got != tt.want {
			t.Errorf("%s: nextPoll() = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// FuzzRequest checks that any accepted file name is of the protocol and of this directory, and that
// delimited content is parsed exactly.
//
// Attacks 13, 25.
func FuzzRequest(f *testing.F) {
	f.Add("a.req", []byte("x\x00y\x00"))
	f.Add("../a.req", []byte{})
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		if id, what, ok := split(name); ok && (id+"."+what != name || strings.ContainsAny(name, "/\x00 \n\x1b") || len(name) > 80) {
			t.Errorf("split(%q) = %q, %q", name, id, what)
		}
		if len(text) > 0 && text[len(text)-1] == 0 {
			if again := append([]byte(strings.Join(fields(text), "\x00")), 0); !bytes.Equal(again, text) {
				t.Errorf("fields(%q), joined again, is %q", text, again)
			}
		}
	})
}

// TestScript runs a shell's syntax check on the client, for unusual names of the directory.
func TestScript(t *testing.T) {
	for _, c := range []Client{
		{Command: "make", Dir: "/w/it's $HOME `here`"},
		{Dir: "/run/hostexec/proxy", Pass: []string{"CI", "LANG"}, Served: "/run/hostexec/carrier"},
	} {
		text := c.Script()
		if i := bytes.IndexByte(text, '@'); bytes.Contains(text, []byte("@DIR@")) || bytes.Contains(text, []byte("@CMD@")) || bytes.Contains(text, []byte("@PASS@")) || bytes.Contains(text, []byte("@SERVED@")) {
			t.Errorf("a placeholder is left at %d", i)
		}
		cmd := exec.Command("sh", "-n")
		cmd.Stdin = bytes.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("sh -n: %v: %s", err, out)
		}
		if !bytes.HasPrefix(text, []byte("#!/bin/sh\n")) || !bytes.Contains(text, []byte("PROXY_TIMEOUT")) || !bytes.Contains(text, []byte("/proc/sys/kernel/random/uuid")) {
			t.Error("the client is incomplete")
		}
	}
}
