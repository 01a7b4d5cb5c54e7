// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// logOfTimes writes a log with a record at each of the given minutes, with lines of different lengths and other
// lines between them. It has rotated files if limit is not 0.
func logOfTimes(t *testing.T, minutes []int, limit int64) (path string, epoch time.Time) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "audit.log")
	l, err := Open(path, SessionInfo{Session: "0123456789ab"}, Options{Rotate: limit})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	epoch = time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	random := rand.New(rand.NewPCG(1, 2))
	for i, m := range minutes {
		l.shared.now = func() time.Time { return epoch.Add(time.Duration(m) * time.Minute) }
		long := strings.Repeat("x", random.IntN(1000))
		if err := l.Write(Record{Kind: Deny, Request: fmt.Sprintf("%04x", i), Args: []string{"cmd", long, long, long, long}}); err != nil {
			t.Fatal(err)
		}
	}
	return path, epoch
}

// since returns the requests that are not older than from, and how many lines were read to find them.
func since(t *testing.T, path string, from time.Time) (requests []string, read int) {
	t.Helper()
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.SkipBefore(from); err != nil {
		t.Fatal(err)
	}
	var last Line
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return requests, read + r.n
		}
		if err != nil {
			t.Fatal(err)
		}
		if last.File != "" && line.File != last.File {
			read += last.N
		}
		last = line
		e, err := Parse(line.Text)
		if err != nil {
			t.Fatalf("%s:%d is not a whole record: %v", line.File, line.N, err)
		}
		if !e.Time.Before(from) {
			requests = append(requests, e.Request)
		}
	}
}

func TestSkipBefore(t *testing.T) {
	const n = 1300
	minutes := make([]int, n)
	for i := range minutes {
		minutes[i] = i
	}
	for _, limit := range []int64{0, 300 << 10} {
		path, epoch := logOfTimes(t, minutes, limit)
		for _, first := range []int{-5, 0, 1, 59, 61, 777, 1200, n - 1, n, n + 500} {
			got, read := since(t, path, epoch.Add(time.Duration(first)*time.Minute))
			want := n - min(max(0, first), n)
			if len(got) != want {
				t.Errorf("rotated at %d: %d records since minute %d, want %d", limit, len(got), first, want)
			}
			if most := want + 61; read > most {
				t.Errorf("rotated at %d: %d lines were read for %d records, want at most %d", limit, read, want, most)
			}
		}
	}
}

// A clock that is set back by less than an hour hides nothing.
func TestSkipBeforeClockSetBack(t *testing.T) {
	var minutes []int
	for i := range 500 {
		minutes = append(minutes, i)
	}
	for i := range 500 {
		minutes = append(minutes, 441+i) // from 499 to 441
	}
	path, epoch := logOfTimes(t, minutes, 0)
	for first := 400; first < 560; first += 7 {
		want := 0
		for _, m := range minutes {
			if m >= first {
				want++
			}
		}
		if got, _ := since(t, path, epoch.Add(time.Duration(first)*time.Minute)); len(got) != want {
			t.Errorf("%d records since minute %d, want %d", len(got), first, want)
		}
	}
}

// Lines that are no records end the search in bounded time, and hide nothing.
func TestSkipBeforeDamaged(t *testing.T) {
	path, epoch := logOfTimes(t, []int{1, 2, 3}, 0)
	records, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, garbage := range []string{strings.Repeat(strings.Repeat("x", 999)+"\n", 3*maxSearch/1000), strings.Repeat("x", 3*maxSearch), strings.Repeat("x", 3*maxSearch) + "\n"} {
		if err := os.WriteFile(path, append([]byte(garbage), records...), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.SkipBefore(epoch.Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		found := 0
		for line, err := r.Next(); err == nil; line, err = r.Next() {
			if e, err := Parse(line.Text); err == nil && e.Request == "0002" {
				found++
			}
		}
		if found != 1 {
			t.Errorf("after %d bytes that are no record, the last record was returned %d times", len(garbage), found)
		}
		r.Close()
	}
}
