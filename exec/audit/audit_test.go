// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 10, 0, 0, 5e8, time.FixedZone("", 3600))

const session = "0123456789ab"

var someone = SessionInfo{Project: "app", Branch: "main", Session: session, Container: "quirky_noyce"}

// open calls Open in a test, with a constant clock.
func open(t testing.TB, path string, opts Options) *Log {
	t.Helper()
	l, err := Open(path, someone, opts)
	if err != nil {
		t.Fatal(err)
	}
	l.shared.now = func() time.Time { return noon }
	t.Cleanup(func() { l.Close() })
	return l
}

func write(t testing.TB, l *Log, kind Kind, args ...string) {
	t.Helper()
	if err := l.Write(Record{Kind: kind, Request: "00ff", Args: args, Rule: "--proxy " + args[0]}); err != nil {
		t.Error(err)
	}
}

// lines returns all lines of the log at path, including rotated files.
func lines(t testing.TB, path string) (all []string) {
	t.Helper()
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l.Text)
	}
}

func TestOpenMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	write(t, open(t, path, Options{PerContainer: true}), Start, "make")
	for file, want := range map[string]os.FileMode{"audit.log": 0o600, "audit": 0o700, "audit/quirky_noyce.log": 0o600} {
		fi, err := os.Stat(filepath.Join(filepath.Dir(path), file))
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode().Perm(); got != want {
			t.Errorf("mode of %s = %o, want %o", file, got, want)
		}
	}
}

// Attack 136.
func TestOpenRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(path string) error
	}{
		{"a symbolic link", func(path string) error {
			return errors.Join(os.WriteFile(path+".real", nil, 0o600), os.Symlink(path+".real", path))
		}},
		{"a dangling link", func(path string) error { return os.Symlink(path+".real", path) }},
		{"a directory", func(path string) error { return os.Mkdir(path, 0o700) }},
		{"what the group may write", func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o620))
		}},
		{"what anybody may write", func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o602))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.log")
			if err := tt.make(path); err != nil {
				t.Fatal(err)
			}
			if l, err := Open(path, SessionInfo{}, Options{}); err == nil {
				l.Close()
				t.Error("it was opened")
			}
		})
	}
}

// TestWriteFails checks that each write to an unwritable log or copy returns an error.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.log")
	l := open(t, path, Options{PerContainer: true})
	start := Record{Kind: Start, Args: []string{"make"}}
	if err := os.Mkdir(filepath.Join(dir, "audit"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, filepath.Join(dir, "audit", "quirky_noyce.log")); err != nil {
		t.Fatal(err)
	}
	if err := l.Write(start); err == nil {
		t.Error("it wrote a copy through a symbolic link")
	}
	if err := l.Named("other").Write(start); err != nil {
		t.Errorf("under another name: %v", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := l.Named("other").Write(start); err == nil {
		t.Error("it wrote to a log that anybody may write")
	}
	if err := errors.Join(os.Chmod(path, 0o600), l.Named("other").Write(start)); err != nil {
		t.Errorf("when nobody else may any more: %v", err)
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path+".old", path); err != nil {
		t.Fatal(err)
	}
	if err := l.Named("other").Write(start); err == nil {
		t.Error("it wrote to a log that a symbolic link had been put in front of")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Write(start); err == nil {
		t.Error("it wrote to a closed log")
	}
	if err := l.Named("other").Write(Record{Kind: Deny, Reason: strings.Repeat("x", maxLine)}); err == nil {
		t.Error("it wrote more than can be read back")
	}
}

func TestPerContainer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := open(t, path, Options{PerContainer: true})
	write(t, l.Named("web"), Start, "make")
	write(t, l.Named("../../db"), Start, "ls")
	write(t, l.Named("web"), Complete, "make")
	for file, want := range map[string]int{"audit.log": 3, "audit/web.log": 2, "audit/session-" + session + ".log": 1} {
		if got := len(lines(t, filepath.Join(filepath.Dir(path), file))); got != want {
			t.Errorf("%s has %d records, want %d", file, got, want)
		}
	}
}

// Attack 137.
func TestRedact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := open(t, path, Options{Redact: []*regexp.Regexp{regexp.MustCompile(`ghp_[A-Za-z0-9]+`), regexp.MustCompile(`--pin \d+`)}})
	for _, args := range [][]string{
		{"gh", "--token=ghp_abc", "--pin", "1234", "x"},
		{"gh", "--token=ghp_abd", "--pin", "1234", "x"},
		{"gh", "--token=[redacted]", "[redacted]", "x"},
	} {
		write(t, l, Start, args...)
	}
	if err := l.Write(Record{Kind: Approve, Args: []string{"gh"}, By: "grant 00ff: gh ghp_abc <number>", Grant: "00ff: gh ghp_abc <number>"}); err != nil {
		t.Fatal(err)
	}
	all := lines(t, path)
	if text := strings.Join(all, "\n"); strings.Contains(text, "ghp_") || strings.Contains(text, "1234 ") {
		t.Errorf("it is written all the same: %s", text)
	}
	if want := `cmd="gh --token=[redacted] [redacted] x" cmd_bytes=31 cmd_sha256=`; !strings.Contains(all[0], want) {
		t.Errorf("%s\nhas no %s", all[0], want)
	}
	var sums []string
	for _, line := range all {
		e, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, e.SHA256)
	}
	if sums[0] == sums[1] || sums[2] != "" {
		t.Errorf("different commands look alike: %q", sums)
	}
}

// TestSync checks that each mode writes all records. The test cannot check that the data is on
// disk.
func TestSync(t *testing.T) {
	for _, mode := range []SyncMode{SyncNever, SyncApproved, SyncAlways} {
		path := filepath.Join(t.TempDir(), "audit.log")
		l := open(t, path, Options{Sync: mode, Rotate: 600, PerContainer: true})
		for _, kind := range []Kind{Request, Approve, Start, Complete} {
			write(t, l, kind, "make")
		}
		if got := len(lines(t, path)); got != 4 {
			t.Errorf("mode %d: %d records, want 4", mode, got)
		}
	}
}

// BenchmarkWrite measures the cost of one record. A call that runs writes three.
func BenchmarkWrite(b *testing.B) {
	l := open(b, filepath.Join(b.TempDir(), "audit.log"), Options{})
	r := Record{Kind: Start, Request: "0123456789abcdef", Args: []string{"make", "test"}, Rule: "--proxy make", Path: "/usr/bin/make", Dir: "/home/you/app"}
	for b.Loop() {
		if err := l.Write(r); err != nil {
			b.Fatal(err)
		}
	}
}
