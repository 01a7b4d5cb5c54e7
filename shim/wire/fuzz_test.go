// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"io"
	"reflect"
	"testing"
)

// Each parser must never panic. Encoding its result must give the input again, so that no two payloads
// have the same meaning.

// Attack 25.
func FuzzExec(f *testing.F) {
	for _, m := range someExecs {
		f.Add(m.Append(nil))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		m, err := ParseExec(string(p))
		if n, cerr := CheckExec(string(p)); cerr != err || n != len(m.Args)+len(m.Env) {
			t.Errorf("CheckExec(%q) = %d, %v, but ParseExec = %+v, %v", p, n, cerr, m, err)
		}
		if err != nil {
			if !reflect.DeepEqual(m, Exec{}) {
				t.Errorf("ParseExec(%q) = %+v with error %v, want nothing", p, m, err)
			}
			return
		}
		if got := m.Append(nil); !bytes.Equal(got, p) {
			t.Errorf("ParseExec(%q).Append() = %q", p, got)
		}
	})
}

func FuzzStarted(f *testing.F) {
	f.Add([]byte{0, 1, 2, 'r'})
	f.Fuzz(func(t *testing.T, p []byte) {
		m, err := ParseStarted(p)
		if got := m.Append(nil); err == nil && !bytes.Equal(got, p) {
			t.Errorf("ParseStarted(%q).Append() = %q", p, got)
		}
	})
}

func FuzzExit(f *testing.F) {
	f.Add((&Exit{Outcome: Signaled, Signal: "TERM", Code: 143, Consumed: 1 << 40, Text: "x\n"}).Append(nil))
	f.Add((&Exit{Outcome: Exited}).Append(nil))
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) > MaxFrame {
			return
		}
		m, err := ParseExit(p)
		if got := m.Append(nil); err == nil && !bytes.Equal(got, p) {
			t.Errorf("ParseExit(%q).Append() = %q", p, got)
		}
	})
}

func FuzzSmall(f *testing.F) {
	f.Add([]byte{0, 24, 0, 80, 0, 0, 0, 0})
	f.Add([]byte{0, 1, 2, 3})
	f.Fuzz(func(t *testing.T, p []byte) {
		if w, err := ParseWinsize(p); err == nil && !bytes.Equal(w.Append(nil), p) {
			t.Errorf("ParseWinsize(%q).Append() = %q", p, w.Append(nil))
		}
		if n, err := ParseCredit(p); err == nil && !bytes.Equal(AppendCredit(nil, n), p) {
			t.Errorf("AppendCredit(ParseCredit(%q)) = %q", p, AppendCredit(nil, n))
		}
	})
}

// Attack 40.
func FuzzReadFrame(f *testing.F) {
	f.Add(AppendFrame(nil, KindStdout, []byte("hello")))
	f.Add(AppendFrame(AppendFrame(nil, KindStdinEOF, nil), KindCredit, AppendCredit(nil, 7)))
	f.Fuzz(func(t *testing.T, p []byte) {
		r, used := bytes.NewReader(p), 0
		var again []byte
		for {
			k, payload, err := ReadFrame(r, make([]byte, 64))
			if err != nil {
				if err == io.EOF && used != len(p) {
					t.Errorf("io.EOF after %d bytes of %q, which has %d", used, p, len(p))
				}
				break
			}
			again = AppendFrame(again, k, payload)
			used = len(p) - r.Len()
		}
		if !bytes.Equal(again, p[:used]) {
			t.Errorf("frames of %q written again are %q", p[:used], again)
		}
	})
}

func FuzzChunk(f *testing.F) {
	f.Add(AppendChunk(nil, 7, MaxChunk))
	f.Add((&Hello{Socket: true, Nonce: "n", Failed: "why"}).Append(nil))
	f.Fuzz(func(t *testing.T, p []byte) {
		if call, n, err := ParseChunk(p); err == nil && (n > MaxChunk || !bytes.Equal(AppendChunk(nil, call, n), p[:ChunkHeaderLen])) {
			t.Errorf("ParseChunk(%q) = %d, %d", p, call, n)
		}
		if h, err := ParseHello(p); err == nil && !bytes.Equal(h.Append(nil), p) {
			t.Errorf("ParseHello(%q).Append() = %q", p, h.Append(nil))
		}
	})
}
