// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestLog fills a log several times. The newest lines must be there, complete and in order, in two files
// within the size limit. Lines of a previous watcher count too.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	var l *Log
	for i := range 1000 {
		if i%150 == 0 { // the watcher restarts
			if l != nil {
				l.Close()
			}
			var err error
			if l, err = OpenLog(dir); err != nil {
				t.Fatal(err)
			}
			l.max = 1000
		}
		if _, err := fmt.Fprintf(l, "line %d of the log\n", i); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var text string
	for _, path := range []string{OldLog(LogFile(dir)), LogFile(dir)} {
		b, err := os.ReadFile(path)
		fi, serr := os.Stat(path)
		if err != nil || serr != nil || len(b) > 1000 || len(b) == 0 || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d bytes, %v, %v, %v", path, len(b), fi.Mode(), err, serr)
		}
		text += string(b)
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		if want := fmt.Sprintf("line %d of the log", 1000-len(lines)+i); line != want {
			t.Fatalf("line %d of %d is %q, want %q", i, len(lines), line, want)
		}
	}
	if len(lines) < 50 {
		t.Errorf("%d lines are left, want 50 at least", len(lines))
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("in the directory: %v", entries)
	}
}

// TestLogCannotTurn checks that the old file is used further if no new file can be created.
func TestLogCannotTurn(t *testing.T) {
	dir := t.TempDir()
	l, err := OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.max = 10
	if err := os.MkdirAll(OldLog(LogFile(dir))+"/in-the-way", 0o700); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(l, "first line")
	if n, err := fmt.Fprintln(l, "second line"); n != 12 || err == nil {
		t.Errorf("Fprintln = %d, %v, want 12 bytes, and why it was no new file", n, err)
	}
	if b, err := os.ReadFile(LogFile(dir)); string(b) != "first line\nsecond line\n" || err != nil {
		t.Errorf("the log: %q, %v", b, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("in the directory: %v", entries)
	}
}
