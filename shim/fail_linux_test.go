// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestFailureAsJSON checks that the shim's own errors end with a line of JSON if requested, like the
// host's.
func TestFailureAsJSON(t *testing.T) {
	s := newFakeHost(t)
	for _, tt := range []struct {
		name   string
		env    []string
		serve  bool // a host accepts and closes the connection
		code   int
		status string
		reason string // a substring
		hint   string
	}{
		{"no host", []string{"HOSTEXEC_DIR=" + t.TempDir()}, false, 125, "failed", "hostexec is not running on the host for this container: no such file", resumeHint},
		{"a host that goes", nil, true, 125, "failed", "the host side went away", resumeHint},
		{"too long", []string{"TEST_LONG=1"}, false, 126, "refused", "argument list too long", ""},
	} {
		for _, value := range []string{"1", "0"} {
			c := s.command("make")
			c.t = t
			c.Env = append(append(c.Env, "HOSTEXEC_JSON="+value), tt.env...)
			c.Stderr = &c.stderr
			c.start()
			if tt.serve {
				p := accept(t, s.sock)
				for _, f := range p.fds {
					f.Close()
				}
				p.Close()
			}
			c.wantExit(tt.code)
			lines := strings.Split(strings.TrimSuffix(c.stderr.String(), "\n"), "\n")
			last := lines[len(lines)-1]
			if value != "1" {
				if strings.HasPrefix(last, "{") {
					t.Errorf("%s: nobody asked for %s", tt.name, last)
				}
				continue
			}
			var got struct {
				Status, Reason, Hint string
				Code                 int
				Rule, Request        *string
			}
			if err := json.Unmarshal([]byte(last), &got); err != nil || got.Rule == nil || got.Request == nil {
				t.Fatalf("%s: %v: %s", tt.name, err, last)
			}
			if got.Status != tt.status || got.Code != tt.code || !strings.Contains(got.Reason, tt.reason) || got.Hint != tt.hint {
				t.Errorf("%s: %s", tt.name, last)
			}
			if strings.Trim(last, " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~") != "" {
				t.Errorf("%s: %q is not printable", tt.name, last)
			}
		}
	}
}

func TestQuote(t *testing.T) {
	text := quote("\"\\\n\xff")
	var got string
	if err := json.Unmarshal([]byte(text), &got); err != nil || got != "\"\\\n\u00ff" {
		t.Errorf("%s is read as %q, %v", text, got, err)
	}
}

func TestEnvironmentVariable(t *testing.T) {
	env := []string{"AB=x", "A", "A=", "A=1", "=y"}
	for name, want := range map[string]string{"A": "", "AB": "x", "B": "", "ABC": ""} {
		if got := variable(env, name); got != want {
			t.Errorf("variable %s = %q, want %q", name, got, want)
		}
	}
	if wire.CodeRefused != 126 || wire.CodeFailed != 125 {
		t.Error("failure writes three digits")
	}
}
