// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/dir/dirtest"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// decide writes the carrier file atomically, as the host does.
func (s *fakeHost) decide(word string) {
	s.t.Helper()
	name := filepath.Join(s.dir, "carrier")
	if err := os.WriteFile(name+".new", []byte(word+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		s.t.Fatal(err)
	}
}

// TestFull checks what a call says when the host cannot start the relay.
func TestFull(t *testing.T) {
	s := &fakeHost{t: t, dir: t.TempDir()}
	s.decide("full")
	c := s.command("make")
	c.Env = append(c.Env, "TEST_PATIENCE=20ms")
	c.Stderr = &c.stderr
	c.start().wantExit(wire.CodeFailed)
	want := "hostexec: no process can be started in the container: has it reached its limit, --pids-limit?" +
		"\nhostexec: hint: have some of its processes end, or on the host: docker update --pids-limit N <container>\n"
	if got := c.stderr.String(); got != want {
		t.Errorf("stderr = %q, want %q", got, want)
	}
}

// TestFullAttached checks the same in an attached container, where the host cannot write why the relay is not there.
func TestFullAttached(t *testing.T) {
	for _, tt := range []struct {
		name, at, now, most string
		full                bool
	}{
		{"cgroup v2", "", "31", "40", true},
		{"cgroup v1", "pids", "40", "40", true},
		{"room is left", "", "30", "40", false},
		{"no limit", "", "4000", "max", false},
		{"unknown", "pids", "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			groups := t.TempDir()
			if err := os.MkdirAll(filepath.Join(groups, tt.at), 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"pids.current": tt.now, "pids.max": tt.most} {
				if err := os.WriteFile(filepath.Join(groups, tt.at, name), []byte(text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := &fakeHost{t: t, dir: t.TempDir()}
			s.decide("relay")
			c := s.command("make")
			c.Env = append(c.Env, "TEST_PATIENCE=20ms", "TEST_CGROUPS="+groups)
			c.Stderr = &c.stderr
			c.start().wantExit(wire.CodeFailed)
			if got := strings.Contains(c.stderr.String(), "docker update --pids-limit"); got != tt.full {
				t.Errorf("stderr = %q, want the hint about pids: %v", &c.stderr, tt.full)
			}
		})
	}
}

// TestFullContainer calls in an attached container whose relay has ended and cannot create its socket again.
func TestFullContainer(t *testing.T) {
	if !dirtest.OwnMounts(t) {
		return
	}
	for name, options := range map[string]string{"no space": "size=4k", "no inodes": "nr_inodes=1"} {
		t.Run(name, func(t *testing.T) {
			s := &fakeHost{t: t, dir: t.TempDir()}
			s.decide("relay")
			relay := filepath.Join(s.dir, "relay")
			if err := os.Mkdir(relay, 0o755); err != nil {
				t.Fatal(err)
			}
			dirtest.Mount(t, "none", relay, "tmpfs", 0, options)
			if name == "no space" {
				if err := os.WriteFile(filepath.Join(relay, "full"), make([]byte, 4096), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c := s.command("make")
			c.Env = append(c.Env, "TEST_PATIENCE=20ms", "TEST_CGROUPS="+t.TempDir())
			c.Stderr = &c.stderr
			c.start().wantExit(wire.CodeFailed)
			if got := c.stderr.String(); !strings.Contains(got, "its disk is full") || strings.Contains(got, "resume") {
				t.Errorf("stderr = %q, want the full disk, and no hint to resume", got)
			}
		})
	}
}

// TestUnknownCarrier reads a word that only another version of the host writes.
func TestUnknownCarrier(t *testing.T) {
	s := &fakeHost{t: t, dir: t.TempDir()}
	s.decide("pigeon")
	c := s.command("make")
	c.Stderr = &c.stderr
	c.start().wantExit(wire.CodeFailed)
	want := "hostexec: the host side was not understood: unknown word in /run/hostexec/carrier\n" +
		"hostexec: hint: start the container again, so that both sides are of one version\n"
	if got := c.stderr.String(); got != want {
		t.Errorf("stderr = %q, want %q", got, want)
	}
}

func TestNoHost(t *testing.T) {
	tests := []struct {
		name, carrier, patience string
		stale                   bool
		why                     string
	}{
		{"no share", "", "", false, "no such file or directory"},
		{"nobody listens", "socket", "", true, "connection refused"},
		{"never decided", "undecided", "20ms", true, "connection refused"},
		{"a relay that is not there", "relay", "", true, "no such file or directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &fakeHost{t: t, dir: t.TempDir()}
			if tt.stale {
				l := s.listen("socket")
				l.SetUnlinkOnClose(false)
				l.Close()
			}
			if tt.carrier != "" {
				s.decide(tt.carrier)
			}
			c := s.command("make")
			c.Env = append(c.Env, "TEST_PATIENCE="+tt.patience)
			c.Stderr = &c.stderr
			c.start().wantExit(wire.CodeFailed)
			want := "hostexec: hostexec is not running on the host for this container: " + tt.why +
				"\nhostexec: hint: docker hostexec resume <container> on the host; docker hostexec service install automates that\n"
			if got := c.stderr.String(); got != want {
				t.Errorf("stderr = %q, want %q", got, want)
			}
		})
	}
}

// TestWaitsForTheDecision makes a call before the host has chosen a carrier.
func TestWaitsForTheDecision(t *testing.T) {
	for _, word := range []string{"socket", "relay"} {
		t.Run(word, func(t *testing.T) {
			s := &fakeHost{t: t, dir: t.TempDir()}
			s.decide("undecided")
			c := s.command("make").start()
			listening(t, c.Process.Pid) // the shim is waiting now
			name := "socket"
			if word == "relay" {
				name = "relay/socket"
				if err := os.Mkdir(filepath.Join(s.dir, "relay"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			l := s.listen(name)
			s.decide(word)
			p := accept(t, l)
			p.exit(wire.Exit{Outcome: wire.Exited, Code: 5})
			c.wantExit(5)
		})
	}
}

func TestLeavingWhileItWaits(t *testing.T) {
	s := &fakeHost{t: t, dir: t.TempDir()}
	s.decide("undecided")
	c := s.command("make").start()
	listening(t, c.Process.Pid)
	c.Process.Signal(syscall.SIGTERM)
	c.wantSignal(syscall.SIGTERM)
}

func TestDirectory(t *testing.T) {
	tests := []struct{ env, want string }{
		{"", "/run/hostexec"},
		{"HOSTEXEC_DIR=", "/run/hostexec"},
		{"HOSTEXEC_DIRS=/x", "/run/hostexec"},
		{"A=b HOSTEXEC_DIR=/x", "/x"},
	}
	for _, tt := range tests {
		if got := directory(strings.Fields(tt.env)); got != tt.want {
			t.Errorf("directory(%q) = %q, want %q", tt.env, got, tt.want)
		}
	}
}
