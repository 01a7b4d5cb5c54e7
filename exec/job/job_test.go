// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

func open(t *testing.T) (*Table, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "jobs")
	table, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return table, dir
}

func begin(t *testing.T, table *Table, id string, args ...string) *Job {
	t.Helper()
	j, err := table.Begin(id, args, "/w", false)
	if err != nil {
		t.Fatal(err)
	}
	j.Streams().Started(os.Getpid())
	return j
}

func end(t *testing.T, j *Job, how Status, st executor.Status) {
	t.Helper()
	if err := j.End(how, st, ""); err != nil {
		t.Fatal(err)
	}
}

func id(n int) string { return fmt.Sprintf("%016x", n) }

func text(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFiles checks that the files hold the exact output of a job, and that other users cannot read
// them.
func TestFiles(t *testing.T) {
	table, dir := open(t)
	j := begin(t, table, id(1), "make", "all")
	s := j.Streams()
	s.Out.Write([]byte("out\x00"))
	s.Err.Write([]byte("err\n"))
	s.Out.Write([]byte("more\x01"))
	end(t, j, Failed, executor.Status{Code: 3})
	at := filepath.Join(dir, id(1))
	if out, errs := text(t, at, "stdout"), text(t, at, "stderr"); out != "out\x00more\x01" || errs != "err\n" {
		t.Errorf("stdout %q, stderr %q", out, errs)
	}
	var both bytes.Buffer
	if err := j.Copy(t.Context(), &Parser{Out: &both, Err: &both}, true); err != nil || both.String() != "out\x00err\nmore\x01" {
		t.Errorf("combined %q, %v", both.String(), err)
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if info, err := d.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		return err
	})
	got, err := Read(dir)
	if err != nil || len(got) != 1 {
		t.Fatalf("Read = %v, %v", got, err)
	}
	if i := got[0]; i.Status != Failed || i.Code != 3 || i.Stdout != 9 || i.Stderr != 4 || i.PID != os.Getpid() || strings.Join(i.Args, " ") != "make all" {
		t.Errorf("Read = %+v", i)
	}
}

// TestLimit checks that output beyond the limit is counted, and that the command gets no error.
func TestLimit(t *testing.T) {
	table, dir := open(t)
	j := begin(t, table, id(1), "yes")
	out, half := j.Streams().Out, bytes.Repeat([]byte("y"), defaultOutput/2)
	for _, b := range [][]byte{half, half[1:], []byte("ab"), []byte("c")} {
		if n, err := out.Write(b); n != len(b) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	end(t, j, Completed, executor.Status{})
	if i := j.Info(); i.Stdout != defaultOutput || i.Dropped != 2 {
		t.Errorf("%d bytes are kept and %d are not, want %d and 2", i.Stdout, i.Dropped, defaultOutput)
	}
	if s := text(t, dir, id(1), "stdout"); len(s) != defaultOutput || s[len(s)-1] != 'a' {
		t.Errorf("the file has %d bytes", len(s))
	}
}

func TestFind(t *testing.T) {
	table, _ := open(t)
	for _, id := range []string{"00aa000000000000", "00ab000000000000", "11aa000000000000"} {
		begin(t, table, id, "true")
	}
	for ref, want := range map[string]error{
		"00aa000000000000": nil, "00aa": nil, "1": nil, "00a": Ambiguous(2), "0": Ambiguous(2), "": ErrUnknown,
		"2": ErrUnknown, "00aa0000000000000": ErrUnknown, "../00aa": ErrUnknown, "00AA": ErrUnknown,
	} {
		j, err := table.Find(ref)
		if !errors.Is(err, want) || err == nil && !strings.HasPrefix(j.Info().ID, ref) {
			t.Errorf("Find(%q) = %v, want %v", ref, err, want)
		}
	}
	for _, id := range []string{"", "x", "../../../../../a", "00AA000000000000", "00aa000000000000"} {
		if _, err := table.Begin(id, []string{"true"}, "/", false); err == nil {
			t.Errorf("Begin(%q) is made", id)
		}
	}
}

// TestOpenAgain checks that jobs of a killed watcher get the status killed. What never ran is removed, and what cannot
// be read stays.
func TestOpenAgain(t *testing.T) {
	table, dir := open(t)
	begin(t, table, id(1), "sleep")
	end(t, begin(t, table, id(2), "true"), Completed, executor.Status{})
	if _, err := table.Begin(id(3), []string{"never"}, "/", false); err != nil {
		t.Fatal(err)
	}
	end(t, begin(t, table, id(4), "true"), Completed, executor.Status{})
	// The kernel's clock for files can be some milliseconds behind, and the jobs are in the order of their times.
	written := time.Now()
	err := os.Chtimes(filepath.Join(dir, id(4), stdoutFile), written, written)
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, id(4), statusFile), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range again.All() {
		<-j.Done()
		got = append(got, j.Info().ID+string(j.Info().Status))
	}
	if strings.Join(got, " ") != id(1)+"killed "+id(2)+"completed "+id(4)+"killed" {
		t.Errorf("jobs = %v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, id(3))); !os.IsNotExist(err) {
		t.Errorf("what never ran is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, id(4), stdoutFile)); err != nil {
		t.Errorf("the output of a job with a damaged status: %v", err)
	}
}

// TestForget checks that the oldest ended jobs are removed with their files, and that no running
// job is removed.
func TestForget(t *testing.T) {
	table, dir := open(t)
	begin(t, table, id(0), "sleep")
	for n := range maxEnded + 5 {
		end(t, begin(t, table, id(n+1), "true"), Completed, executor.Status{})
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != maxEnded+1 || len(table.All()) != maxEnded+1 {
		t.Errorf("%d folders, %d jobs, want %d: %v", len(entries), len(table.All()), maxEnded+1, err)
	}
	for ref, want := range map[string]error{id(0): nil, id(5): ErrUnknown, id(6): nil} {
		if _, err := table.Find(ref); !errors.Is(err, want) {
			t.Errorf("Find(%s) = %v, want %v", ref, err, want)
		}
	}
}

func TestSignal(t *testing.T) {
	table, _ := open(t)
	j := begin(t, table, id(1), "sleep")
	for range 20 {
		if err := j.Signal("HUP"); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-j.Streams().Signals; got != (executor.Delivery{Signal: "HUP"}) {
		t.Errorf("signal = %v", got)
	}
	end(t, j, Failed, executor.Status{Code: 129, Signal: "HUP"})
	if got := j.Info().Status; got != Killed {
		t.Errorf("status = %s, want killed: it died of what was sent", got)
	}
	if err := j.Signal("HUP"); !errors.Is(err, ErrEnded) {
		t.Errorf("Signal of what has ended = %v", err)
	}
	for s, want := range map[string]string{
		"TERM": "TERM", "SIGTERM": "TERM", "sigusr1": "USR1", "15": "TERM", "9": "KILL", "31": "SYS",
		"": "", "0": "", "-1": "", "32": "", "SIG": "", "BOGUS": "", "TERM ": "", "99999999999999999999": "",
	} {
		if got, err := ParseSignal(s); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("ParseSignal(%q) = %q, %v", s, got, err)
		}
	}
}

// TestAwaitLine checks lines in either stream, complete or not, with any division into writes.
func TestAwaitLine(t *testing.T) {
	for _, tt := range []struct {
		re     string
		writes []written
		want   error
	}{
		{"ready on [0-9]+", []written{{Stdout, "not yet\nrea"}, {Stderr, "noise\n"}, {Stdout, "dy on 80\n"}}, nil},
		{"^err$", []written{{Stderr, "err\r\n"}}, nil},
		{"> $", []written{{Stdout, "prompt> "}}, nil},
		{"^$", []written{{Stdout, "a\n\n"}}, nil},
		{"^a$", []written{{Stdout, "ab\nba\n"}}, ErrEnded},
		{"x", []written{{Stdout, strings.Repeat("y", maxLine+1) + "x\n"}}, ErrEnded},
		{"x", []written{{Stdout, strings.Repeat("y", maxLine)}, {Stdout, "x"}, {Stdout, "\n"}}, ErrEnded},
		{"x", nil, ErrEnded},
	} {
		table, _ := open(t)
		j := begin(t, table, id(1), "serve")
		found := make(chan error, 1)
		// ends with j, at the latest.
		go func() { found <- j.AwaitLine(context.Background(), regexp.MustCompile(tt.re)) }()
		for _, w := range tt.writes {
			writer{j, w.s}.Write([]byte(w.text))
		}
		if tt.want == nil {
			if err := <-found; err != nil {
				t.Errorf("%s: %v", tt.re, err)
			}
		}
		end(t, j, Completed, executor.Status{})
		if tt.want != nil {
			if err := <-found; !errors.Is(err, tt.want) {
				t.Errorf("%s: %v, want %v", tt.re, err, tt.want)
			}
		}
	}
}

// TestFollow checks that a reader in another process gets the whole log, and stops when the job has
// ended.
func TestFollow(t *testing.T) {
	table, dir := open(t)
	j := begin(t, table, id(1), "make")
	looks := 0
	more := func() bool {
		if looks++; looks == 1 {
			j.Streams().Out.Write([]byte("late\n"))
			end(t, j, Completed, executor.Status{})
		}
		return true
	}
	j.Streams().Out.Write([]byte("early\n"))
	var out bytes.Buffer
	info, err := Copy(t.Context(), dir, id(1), &Parser{Out: &out, Err: &out}, more)
	if err != nil || out.String() != "early\nlate\n" || info.Status != Completed {
		t.Errorf("%q, %v, %v", out.String(), info.Status, err)
	}
	if _, err := Copy(t.Context(), dir, id(2), &out, more); !os.IsNotExist(errors.Unwrap(err)) {
		t.Errorf("Copy of what is not there = %v", err)
	}
}

// TestDiscard checks that a discarded job leaves nothing, and has failed for those who wait for it: wait exited with 0.
func TestDiscard(t *testing.T) {
	table, dir := open(t)
	j, err := table.Begin(id(1), []string{"lost"}, "/", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Discard(127, "not found"); err != nil {
		t.Fatal(err)
	}
	<-j.Done()
	if got := j.Info(); got.Status != Error || got.Code != 127 || got.Reason != "not found" || got.Ended.IsZero() {
		t.Errorf("those who wait are told %+v", got)
	}
	if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil || len(table.All()) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}
