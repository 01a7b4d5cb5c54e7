// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTail checks that the end of a log spans all its files, and begins with a complete line.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if _, err := Tail(path, 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Tail of nothing: %v, want that there is none", err)
	}
	for name, text := range map[string]string{"audit.log.2": "one\ntwo\n", "audit.log.1": "three\n", "audit.log": "four\nfi"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		size int64
		want string
	}{
		{0, ""}, {2, ""}, {6, ""}, {7, "four\n"}, {10, "four\n"}, {11, "three\nfour\n"}, {14, "three\nfour\n"},
		{16, "two\nthree\nfour\n"}, {19, "one\ntwo\nthree\nfour\n"}, {1000, "one\ntwo\nthree\nfour\n"},
	} {
		if got, err := Tail(path, tt.size); err != nil || string(got) != tt.want {
			t.Errorf("Tail(%d) = %q, %v, want %q", tt.size, got, err, tt.want)
		}
	}
}

// TestTailRotated checks that a log with many rotations has the same end as a log without.
func TestTailRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := open(t, path, Options{Rotate: 700})
	for i := range 20 {
		write(t, l, Complete, "make", fmt.Sprint(i))
	}
	text, err := Tail(path, 1<<20)
	if n := strings.Count(string(text), "\n"); err != nil || n != 20 {
		t.Errorf("%d lines, %v, want 20", n, err)
	}
}
