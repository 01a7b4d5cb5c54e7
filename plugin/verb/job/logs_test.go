// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

func TestLastLines(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"a\nb\nc\n", -1, "a\nb\nc\n"},
		{"a\nb\nc\n", 0, ""},
		{"a\nb\nc\n", 1, "c\n"},
		{"a\nb\nc\n", 2, "b\nc\n"},
		{"a\nb\nc\n", 3, "a\nb\nc\n"},
		{"a\nb\nc\n", 9, "a\nb\nc\n"},
		{"a\nhalf", 1, "half"},
		{"a\n\n", 1, "\n"},
		{"", 1, ""},
		{"", 0, ""},
	} {
		if got := string(lastLines([]byte(tt.text), tt.n)); got != tt.want {
			t.Errorf("lastLines(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}

func TestShowLogRefusesTail(t *testing.T) {
	for _, tail := range []string{"", "x", "-1", "1.5"} {
		if err := showLog(t.Context(), io.Discard, os.DevNull, logsOptions{tail: tail}); err == nil || !strings.Contains(err.Error(), "--tail") {
			t.Errorf("--tail %q: %v", tail, err)
		}
	}
}

// TestShowLogFollows checks that --follow shows new lines, and ends when the session is removed.
func TestShowLogFollows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "watch.log")
	if err := os.WriteFile(path, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	ended := make(chan error, 1)
	// ends when the log is removed, below.
	go func() {
		ended <- showLog(context.Background(), w, path, logsOptions{follow: true, tail: "1"})
		w.Close()
	}()
	buf := make([]byte, 64)
	n, _ := r.Read(buf)
	if got := string(buf[:n]); got != "two\n" {
		t.Errorf("first read %q, want the last line", got)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("three\n"); err != nil {
		t.Fatal(err)
	}
	if n, _ = r.Read(buf); string(buf[:n]) != "three\n" {
		t.Errorf("then read %q, want the new line", buf[:n])
	}
	next := path + ".next" // as state.Log does it when the file is full
	if _, err := f.WriteString("four\n"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(next, []byte("five\n"), 0o600), os.Link(path, state.OldLog(path)), os.Rename(next, path)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"four\n", "five\n"} {
		if n, _ = r.Read(buf); string(buf[:n]) != want {
			t.Errorf("after the rotation it read %q, want %q", buf[:n], want)
		}
	}
	var whole bytes.Buffer
	if err := showLog(t.Context(), &whole, path, logsOptions{tail: "3"}); err != nil || whole.String() != "three\nfour\nfive\n" {
		t.Errorf("the complete log ends with %q, %v", whole.String(), err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(r)
	if err := <-ended; err != nil || strings.TrimSpace(string(rest)) != "" {
		t.Errorf("ended with %v and %q", err, rest)
	}
}

// TestFindJob checks that a job is found by its id or the beginning of it, and that a call is not reported as missing.
func TestFindJob(t *testing.T) {
	entry := func(id, kind string) activity { return activity{Info: job.Info{ID: id}, Kind: kind} }
	all := []activity{
		entry("aa00", kindCall), entry("aa11", kindJob), entry("aa11", kindLeft), entry("bb00", kindCall), entry("cc00", kindLeft),
		entry("dd00", kindJob), entry("dd11", kindJob), entry("dd22", kindCall),
	}
	for ref, want := range map[string]string{
		"aa11": "", "aa": "", "dd00": "",
		"aa00": "aa00 is a call, not a job", "b": "bb00 is a call, not a job", "cc00": "cc00 is a call, not a job",
		"dd": "dd is the beginning of 2 ids: give more of it", "ee": "no such job: ee", "": `no such job: ""`,
	} {
		a, err := findJob(all, ref)
		switch {
		case want == "" && (err != nil || a.Kind != kindJob || !strings.HasPrefix(a.ID, ref)):
			t.Errorf("findJob(%q) = %+v, %v", ref, a, err)
		case want != "" && (err == nil || err.Error() != want):
			t.Errorf("findJob(%q) = %v, want %s", ref, err, want)
		}
	}
}
