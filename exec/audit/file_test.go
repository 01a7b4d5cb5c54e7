// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Attacks 132, 136.
func TestRotate(t *testing.T) {
	for _, tt := range []struct {
		keep, want int
		earlier    int
	}{{0, 20, 0}, {3, 4, 1}, {1, 2, 1}} {
		t.Run(fmt.Sprint("keep ", tt.keep), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.log")
			l := open(t, path, Options{Rotate: 400, Keep: tt.keep}) // each record gets a file of its own
			for range 20 {
				write(t, l, Deny, "make")
			}
			if got := len(lines(t, path)); got != tt.want {
				t.Errorf("%d records are left, want %d", got, tt.want)
			}
			rep := verifyLog(t, path)
			if len(rep.Faults) != 0 || rep.Earlier != tt.earlier {
				t.Errorf("report = %+v, want no fault, and %d chains that began earlier", rep, tt.earlier)
			}
			for _, name := range []string{path, path + ".1"} { // each file alone is the middle of a chain
				if rep := verify(t, name); len(rep.Faults) != 0 || rep.Earlier != 1 {
					t.Errorf("%s: report = %+v, want no fault, and a chain that began earlier", name, rep)
				}
			}
		})
	}
}

// TestRotatedNames checks the order of more than nine files, with other files in the directory and
// with a missing number.
func TestRotatedNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	for _, suffix := range []string{"", ".1", ".2", ".10", ".4", ".04", ".x", ".0", ".-1", ".1.gz", "1"} {
		if err := os.WriteFile(path+suffix, []byte(suffix+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := strings.Join(lines(t, path), " "), ".10 .4 .2 .1 "; got != want {
		t.Errorf("read in the order %q, want %q", got, want)
	}
	l := open(t, path, Options{Rotate: 1, Keep: 4})
	write(t, l, Start, "make")
	var names []string
	all, _ := filepath.Glob(path + "*")
	for _, name := range all {
		names = append(names, strings.TrimPrefix(name, path))
	}
	slices.Sort(names)
	if got, want := strings.Join(names, " "), " .-1 .0 .04 .1 .1.gz .2 .3 .x 1"; got != want {
		t.Errorf("after one rotation there are %q, want %q", got, want)
	}
}

// TestTorn checks that an incomplete line stays alone, and that the chain continues from the last
// complete record.
func TestTorn(t *testing.T) {
	for _, cut := range []int{0, 1, 50, -1} {
		path := filepath.Join(t.TempDir(), "audit.log")
		l := open(t, path, Options{})
		write(t, l, Start, "one")
		write(t, l, Start, "two")
		l.Close()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		first := strings.IndexByte(string(b), '\n') + 1
		size := first + cut
		if cut < 0 {
			size = len(b) - 1 // the record is complete except for the line end
		}
		if err := os.Truncate(path, int64(size)); err != nil {
			t.Fatal(err)
		}
		again := open(t, path, Options{})
		write(t, again, Start, "three")
		write(t, again, Start, "four")
		rep := verify(t, path)
		want := 1
		if cut == 0 {
			want = 0
		}
		if len(rep.Faults) != 0 || rep.Incomplete != want || rep.Records != 3 {
			t.Errorf("cut at %d: %+v, want 3 records, %d torn and no fault", cut, rep, want)
		}
	}
}

// TestRemoved checks that a removed log is created again, and that Verify reports it.
func TestRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := open(t, path, Options{})
	write(t, l, Start, "one")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, l, Complete, "one")
	if rep := verify(t, path); len(rep.Faults) != 1 || !strings.Contains(rep.Faults[0].What, "removed: record 1 ") {
		t.Errorf("faults = %v, want that record 1 was removed", rep.Faults)
	}
}

// TestFollow checks a reader that follows a log with many writers across rotations. No record is
// lost or repeated.
func TestFollow(t *testing.T) {
	const writers, each = 8, 100
	path := filepath.Join(t.TempDir(), "audit.log")
	l := open(t, path, Options{Rotate: 4000})
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Follow()
	var wg sync.WaitGroup
	for i := range writers {
		// ends when it has written its records.
		wg.Go(func() {
			for j := range each {
				write(t, l, Deny, "cmd", fmt.Sprint(i), fmt.Sprint(j))
			}
		})
	}
	done := make(chan struct{})
	// ends when the writers have.
	go func() { wg.Wait(); close(done) }()
	var next uint64 = 1
	for written := false; ; {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			if written {
				break
			}
			select {
			case <-done:
				written = true
			default:
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		e, err := Parse(line.Text)
		if err != nil || e.Seq != next {
			t.Fatalf("%s:%d: record %d, %v, want %d", line.File, line.N, e.Seq, err, next)
		}
		next++
	}
	if next-1 != writers*each {
		t.Errorf("%d records were read, want %d", next-1, writers*each)
	}
	if rep := verifyLog(t, path); len(rep.Faults) != 0 {
		t.Errorf("faults = %v", rep.Faults)
	}
}

// TestFollowPartialLine checks that a reader returns an incomplete line only after it is complete.
func TestFollowPartialLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Follow()
	for _, step := range []struct{ add, want string }{{"ab", ""}, {"c\nd", "abc"}, {"", ""}, {"\n", "d"}, {"\n", "-"}} {
		if _, err := f.WriteString(step.add); err != nil {
			t.Fatal(err)
		}
		got, err := r.Next()
		if step.want == "" && !errors.Is(err, io.EOF) || step.want != "" && (err != nil || got.Text != strings.Trim(step.want, "-")) {
			t.Errorf("after %q: %q, %v, want %q", step.add, got.Text, err, step.want)
		}
	}
}

func TestReaderLongLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 3*maxLine)+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := OpenFiles(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	long, err := r.Next()
	if err != nil || long.Recordable || len(long.Text) > maxLine+1 {
		t.Errorf("the long line has %d bytes, recordable %t, %v", len(long.Text), long.Recordable, err)
	}
	if after, err := r.Next(); err != nil || after.Text != "after" || after.N != 2 {
		t.Errorf("then comes %+v, %v", after, err)
	}
}

// TestNoCurrentFile checks a log whose writer was killed between the rename of a file and the
// creation of the next. There is no file with the log's name.
func TestNoCurrentFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := open(t, path, Options{Rotate: 400})
	write(t, l, Start, "one")
	write(t, l, Start, "two")
	if err := os.Rename(path, path+".2"); err != nil {
		t.Fatal(err)
	}
	if got := len(lines(t, path)); got != 2 {
		t.Errorf("%d lines, want 2", got)
	}
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Follow()
	again := open(t, path, Options{})
	write(t, again, Start, "three")
	for range 3 {
		if l, err := r.Next(); err != nil {
			t.Errorf("Next = %q, %v", l.Text, err)
		}
	}
}

func TestOpenReaderMissing(t *testing.T) {
	if _, err := OpenReader(filepath.Join(t.TempDir(), "audit.log")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error = %v, want that there is none", err)
	}
}
