// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const request = "0123456789abcdef"

// play returns all output of a recording, and its remarks.
func play(t testing.TB, dir, request string) (out string, remarks []string, last time.Duration) {
	t.Helper()
	p, err := Open(dir, request)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for {
		e, err := p.Next()
		if errors.Is(err, io.EOF) {
			return out, remarks, last
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.After < last {
			t.Errorf("an event at %s after one at %s", e.After, last)
		}
		last = e.After
		if e.IsMarker() {
			remarks = append(remarks, e.Data)
		} else if e.Code == "o" {
			out += e.Data
		}
	}
}

func TestRecording(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	r, err := Create(dir, request, Header{Command: "make\x1b"})
	if err != nil {
		t.Fatal(err)
	}
	begin := r.begin
	r.now = func() time.Time { return begin.Add(1500 * time.Millisecond) }
	stdout, stderr := r.Tee(Stdout, io.Discard), r.Tee(Stderr, io.Discard)
	stdout.Write([]byte("one\n"))
	stderr.Write(nil)
	stderr.Write([]byte("\x1b[31mt\xc3"))
	stdout.Write([]byte("2"))
	stderr.Write([]byte("\xa9\xff\n\xe2\x82"))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
	stdout.Write([]byte("late"))
	if got, _, last := play(t, dir, request[:5]); got != "one\n\x1b[31mt2é\ufffd\n\ufffd\ufffd" || last != 1500*time.Millisecond {
		t.Errorf("played is %q, until %s", got, last)
	}
	for file, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, request): 0o600} {
		if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("mode of %s = %v, %v, want %o", file, fi.Mode(), err, mode)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, request))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(b), `{"version":2,"width":80,"height":24,"timestamp":`) || !strings.Contains(string(b), "\n[1.500000,\"o\",\"one\\n\"]\n") {
		t.Errorf("no asciicast: %s", b)
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/dev/null", filepath.Join(dir, "aa")); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "../x", "AB", "aa", strings.Repeat("a", 65)} {
		if r, err := Create(dir, id, Header{}); err == nil {
			r.Close()
			t.Errorf("it recorded request %q", id)
		}
	}
}

// Attack 141.
func TestBounded(t *testing.T) {
	dir := t.TempDir()
	r, err := Create(dir, request, Header{})
	if err != nil {
		t.Fatal(err)
	}
	r.max = 1000
	for range 100 {
		r.Tee(Stdout, io.Discard).Write(bytes.Repeat([]byte("x"), 50))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	out, remarks, _ := play(t, dir, request)
	if len(out) == 0 || len(out) > 1000 || len(remarks) != 1 || !strings.HasPrefix(remarks[0], "truncated") {
		t.Errorf("%d bytes, remarks %q, want less than 1000 and one", len(out), remarks)
	}
}

// TestTee checks concurrent writes to both streams, through writers of which one fails.
func TestTee(t *testing.T) {
	dir := t.TempDir()
	r, err := Create(dir, request, Header{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var got bytes.Buffer
	broken, w := io.Pipe()
	broken.Close()
	for _, to := range []io.Writer{r.Tee(Stdout, &got), r.Tee(Stderr, w)} {
		// ends when it has written.
		wg.Go(func() {
			for range 100 {
				to.Write([]byte("é"))
			}
		})
	}
	wg.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if out, _, _ := play(t, dir, request); out != strings.Repeat("é", 200) || got.String() != strings.Repeat("é", 100) {
		t.Errorf("recorded %d bytes, passed on %d", len(out), got.Len())
	}
	var none *Recording
	if none.Tee(Stdout, nil) != nil || none.Tee(Stderr, &got) != io.Writer(&got) {
		t.Error("no recording changes the writers")
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"aa": "", "ab": "{}", "bb": "{\"version\":1}\n", "cc": "{\"version\":2}\nx\n", "dd": "{\"version\":2}\n[-1,\"o\",\"x\"]\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"", "a", "aa", "bb", "ff", "../record/x", "cc", "dd"} {
		p, err := Open(dir, id)
		if err == nil {
			_, err = p.Next()
			p.Close()
		}
		if err == nil || errors.Is(err, io.EOF) && id != "aa" {
			t.Errorf("request %q is read: %v", id, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`[1.5,"o","text"]`))
	f.Add([]byte(`[1e300,"o"]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, err := parse(b); err == nil && e.After < 0 {
			t.Fatalf("parse(%q) = %+v", b, e)
		}
	})
}
