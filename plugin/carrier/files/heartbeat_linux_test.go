// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/limit"
)

// openServedDir returns an empty directory of requests, and its path.
func openServedDir(t *testing.T) (*servedDir, string) {
	t.Helper()
	base := t.TempDir()
	box, err := dir.MakeUntrustedDir(base, "x", dir.ForEveryone)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	return newServedDir(RequestDir{Dir: box}), filepath.Join(base, "x")
}

// touch gives a file, which it makes, a time.
func touch(t *testing.T, name string, at time.Time) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(f.Close(), os.Chtimes(name, at, at))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestHeartbeat distinguishes callers that touch .heartbeat from those that do not. Other processes may touch it too.
func TestHeartbeat(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		name    string
		touched time.Duration // when .heartbeat was touched, before the request
		beating int           // other calls whose callers touch it
		beaten  time.Duration // how long ago the last of them ended
		want    bool
	}{
		{"after the request was written", -time.Millisecond, 0, time.Hour, true},
		{"at the same moment", 0, 1, 0, true},
		{"just before", 20 * time.Millisecond, 0, time.Hour, true},
		{"a beat before", time.Second, 0, time.Hour, true},
		{"long before", time.Minute, 0, time.Hour, false},
		{"before, by another caller", time.Second, 1, time.Hour, false},
		{"before, by a caller that has just ended", 20 * time.Millisecond, 0, time.Second, false},
		{"after, beside another caller", -time.Millisecond, 1, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, at := openServedDir(t)
			p.heartbeatCalls, p.heartbeatEnded = tt.beating, now.Add(-tt.beaten)
			touch(t, at+"/.heartbeat", now.Add(-tt.touched))
			if got := p.hasHeartbeat(dir.Entry{Mod: now}, now); got != tt.want {
				t.Errorf("beats = %v, want %v", got, tt.want)
			}
		})
	}
}

// TestHeartbeatUntrusted checks that other files in place of .heartbeat do not count, and are not changed.
func TestHeartbeatUntrusted(t *testing.T) {
	for name, plant := range map[string]func(name, other string) error{
		"nothing":         func(string, string) error { return nil },
		"a symbolic link": func(name, other string) error { return os.Symlink(other, name) },
		"another's name":  func(name, other string) error { return os.Link(other, name) },
		"a directory":     func(name, _ string) error { return os.Mkdir(name, 0o777) },
	} {
		t.Run(name, func(t *testing.T) {
			p, at := openServedDir(t)
			other := filepath.Join(filepath.Dir(at), "other")
			touch(t, other, time.Now())
			before, err := os.Stat(other)
			if err == nil {
				err = plant(at+"/.heartbeat", other)
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.hasHeartbeat(dir.Entry{Mod: time.Now()}, time.Now()) {
				t.Error("it counts as a heartbeat")
			}
			p.putHeartbeat() // fails for a directory, which stays
			after, err := os.Stat(other)
			if err != nil || after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) {
				t.Errorf("the other file has changed: %v, %v", after, err)
			}
		})
	}
}

// TestAlive checks that a caller is missed if it stops changing its file, but not if it never began.
func TestAlive(t *testing.T) {
	p, at := openServedDir(t)
	began := time.Now()
	quiet := changingFile{name: "quiet.alive", max: heartbeatTimeout, changed: began}
	heartbeatFile := changingFile{name: heartbeat, max: heartbeatTimeout, changed: began}
	for i := range 10 {
		now := began.Add(time.Duration(i) * time.Second)
		touch(t, at+"/.heartbeat", now.Add(-time.Hour)) // another clock
		if heartbeatFile.missed(p.Dir, now) {
			t.Fatalf("missed after %d beats", i)
		}
	}
	last := began.Add(9 * time.Second)
	if heartbeatFile.missed(p.Dir, last.Add(heartbeatTimeout)) {
		t.Error("missed too early")
	}
	if !heartbeatFile.missed(p.Dir, last.Add(heartbeatTimeout+time.Millisecond)) {
		t.Error("not missed")
	}
	if quiet.missed(p.Dir, began.Add(time.Hour)) {
		t.Error("a caller without a heartbeat is missed")
	}
}

// TestHeartbeatShared checks that every user can write .heartbeat, and that its creation does not count as a heartbeat.
func TestHeartbeatShared(t *testing.T) {
	p, at := openServedDir(t)
	box, err := dir.MakeUntrustedDir(filepath.Dir(at), "x", dir.ForEveryone) // which Close closes
	if err != nil {
		t.Fatal(err)
	}
	touch(t, at+"/.heartbeat", time.Now()) // mode 0600, of a caller of before
	l, err := Listen([]RequestDir{{Dir: box, Commands: []string{"make"}, Cwd: func() string { return "/" }}}, slog.New(slog.DiscardHandler), &limit.Session{})
	if err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(at + "/.heartbeat")
	if err != nil || fi.Mode() != 0o666 {
		t.Errorf("it has mode %v, %v", fi.Mode(), err)
	}
	if p.hasHeartbeat(dir.Entry{Mod: time.Now()}, time.Now()) {
		t.Error("the host's own file counts as a heartbeat")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(at + "/.heartbeat"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
}

// TestHeartbeatRemoved removes .heartbeat, and puts a file in its place that only its owner can write. In both cases
// every user can write it soon again.
func TestHeartbeatRemoved(t *testing.T) {
	_, at := openServedDir(t)
	box, err := dir.MakeUntrustedDir(filepath.Dir(at), "x", dir.ForEveryone)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen([]RequestDir{{Dir: box, Commands: []string{"make"}, Cwd: func() string { return "/" }}}, slog.New(slog.DiscardHandler), &limit.Session{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	name := at + "/.heartbeat"
	for range 2 {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		awaitShared(t, name)
		if err := errors.Join(os.Remove(name), os.WriteFile(name, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		awaitShared(t, name)
	}
}

// awaitShared waits until every user can write a file.
func awaitShared(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		fi, err := os.Stat(name)
		if err == nil && fi.Mode() == 0o666 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v, %v, want a file with mode 0666", name, fi, err)
		}
	}
}
