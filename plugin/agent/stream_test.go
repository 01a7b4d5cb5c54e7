// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker/docker/pkg/stdcopy"
)

// frames returns engine frames with parts of stdout (prefix >) and stderr (prefix !).
func frames(parts ...string) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		kind := stdcopy.Stdout
		if p[0] == '!' {
			kind = stdcopy.Stderr
		}
		stdcopy.NewStdWriter(&b, kind).Write([]byte(p[1:]))
	}
	return b.Bytes()
}

func TestDemux(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, tt := range []struct {
		name     string
		in       []byte
		out, err string
		bad      bool
	}{
		{"stdout", frames(">one\n", ">two\n"), "one\ntwo\n", "", false},
		{"stderr", frames("!one\n", "!two\n"), "", "one\ntwo\n", false},
		{"both", frames(">out\n", "!err\n"), "out\n", "err\n", false},
		{"interleaved", frames(">a", "!b", ">c", "!d", ">e"), "ace", "bd", false},
		{"empty", nil, "", "", false},
		{"a long one", frames(">"+long, "!"+long), long, long, false},
		{"every byte", frames(">\x00\x01\x02\xff\r\n"), "\x00\x01\x02\xff\r\n", "", false},
		{"broken", append(frames(">ok"), 9, 9, 9, 9, 0, 0, 0, 1, 'x'), "ok", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			err := demux(&out, &errs, bytes.NewReader(tt.in))
			if (err != nil) != tt.bad {
				t.Errorf("demux: %v, want an error: %t", err, tt.bad)
			}
			if out.String() != tt.out || errs.String() != tt.err {
				t.Errorf("demux = %.40q, %.40q, want %.40q, %.40q", out.String(), errs.String(), tt.out, tt.err)
			}
		})
	}
}

// TestSlowClient checks that a slow reader gets all bytes.
func TestSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		s := newDroppingWriter(w)
		sent := bytes.Repeat([]byte("0123456789abcdef"), chunks*chunk/8) // twice the buffer size
		got := make(chan []byte, 1)
		// Ends when the pipe is closed, below.
		go func() {
			var all []byte
			buf := make([]byte, chunk)
			for {
				time.Sleep(stallTimeout / 2)
				n, err := io.ReadFull(r, buf)
				all = append(all, buf[:n]...)
				if err != nil {
					got <- all
					return
				}
			}
		}()
		s.Write(sent)
		s.close()
		w.Close()
		if all := <-got; !bytes.Equal(all, sent) {
			t.Errorf("%d bytes came, of %d", len(all), len(sent))
		}
	})
}

// TestStalledClient checks that a stalled reader delays the writer only once, and gets the number of
// dropped bytes.
func TestStalledClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		s := newDroppingWriter(w)
		start := time.Now()
		one := bytes.Repeat([]byte{'a'}, chunk)
		for range 4 * chunks {
			s.Write(one)
		}
		if took := time.Since(start); took != stallTimeout {
			t.Errorf("writing took %s, want %s", took, stallTimeout)
		}
		// Ends when the pipe is closed, below.
		all := make(chan string, 1)
		go func() {
			b, _ := io.ReadAll(r)
			all <- string(b)
		}()
		synctest.Wait()
		s.Write([]byte("again"))
		s.close()
		w.Close()
		text := <-all
		kept := strings.Count(text, "a"+strings.Repeat("a", 15)) * 16
		lost := 4*chunks*chunk - kept
		if want := fmt.Sprintf("\nhostexec: %d bytes that the agent wrote here are lost: nobody read them\nagain", lost); !strings.HasSuffix(text, want) {
			t.Errorf("it ends %q, want %q", text[max(0, len(text)-200):], want)
		}
	})
}

// TestUnreadOutput checks that close returns even if nobody reads.
func TestUnreadOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		s := newDroppingWriter(w)
		s.Write([]byte("x"))
		start := time.Now()
		s.close()
		if took := time.Since(start); took != stallTimeout {
			t.Errorf("close took %s, want %s", took, stallTimeout)
		}
		r.Close()
	})
}

func TestTail(t *testing.T) {
	var all lastLines
	out, errs := all.stream(), all.stream()
	for i := range 60 {
		fmt.Fprintf(out, "line %d\r\n", i)
	}
	errs.Write([]byte("err"))
	out.Write([]byte("\x1b[2J" + strings.Repeat("x", maxLine) + "\n"))
	errs.Write([]byte("or\nthe end"))
	errs.flush()
	out.flush()
	got := all.last()
	if len(got) != maxLines {
		t.Fatalf("%d lines, want %d", len(got), maxLines)
	}
	for i, want := range map[int]string{0: "line 13", 46: "line 59", 47: `\x1b[2J` + strings.Repeat("x", maxLine-4) + "...", 48: "error", 49: "the end"} {
		if got[i] != want {
			t.Errorf("line %d = %.60q, want %.60q", i, got[i], want)
		}
	}
}
