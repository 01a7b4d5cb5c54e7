// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// written is one write of a command.
type written struct {
	s    Stream
	text string
}

func TestCombined(t *testing.T) {
	for _, tt := range []struct {
		name   string
		writes []written
		log    string
	}{
		{"nothing", nil, ""},
		{"lines", []written{{Stdout, "a\n"}, {Stderr, "b\n"}}, "\x01\x01\x01a\n\x02\x02\x02b\n"},
		{"two at once", []written{{Stdout, "a\nb\n"}}, "\x01\x01\x01a\n\x01\x01\x01b\n"},
		{"no newline is not one", []written{{Stdout, "x"}}, "\x01\x01\x01x"},
		{"a line in two writes", []written{{Stdout, "a"}, {Stdout, "b\n"}}, "\x01\x01\x01ab\n"},
		{"broken into", []written{{Stdout, "a"}, {Stderr, "E\n"}, {Stdout, "b\n"}}, "\x01\x01\x01a\x01\n\x02\x02\x02E\n\x01\x01\x01b\n"},
		{"an empty line", []written{{Stderr, "\n"}}, "\x02\x02\x02\n"},
		{"a prefix as text", []written{{Stdout, "\x02\x02\x02x\n"}}, "\x01\x01\x01\x02\x00\x02\x00\x02\x00x\n"},
		{"NUL", []written{{Stdout, "\x00\x01\n"}}, "\x01\x01\x01\x00\x01\x00\n"},
	} {
		log, _, _ := encode(tt.writes)
		if string(log) != tt.log {
			t.Errorf("%s: log = %q, want %q", tt.name, log, tt.log)
		}
		checkParsed(t, tt.writes, 1)
		checkParsed(t, tt.writes, len(log)+1)
	}
}

func encode(writes []written) (log []byte, out, err string) {
	var e encoder
	for _, w := range writes {
		log = e.append(log, w.s, []byte(w.text))
		if w.s == Stdout {
			out += w.text
		} else {
			err += w.text
		}
	}
	return log, out, err
}

// checkParsed parses the log of writes in pieces. It checks the text of each stream and the order
// of both.
func checkParsed(t *testing.T, writes []written, piece int) {
	t.Helper()
	log, wantOut, wantErr := encode(writes)
	var out, errs, both bytes.Buffer
	p := &Parser{Out: io.MultiWriter(&out, &both), Err: io.MultiWriter(&errs, &both)}
	for rest := log; len(rest) > 0; {
		n := min(piece, len(rest))
		if m, err := p.Write(rest[:n]); m != n || err != nil {
			t.Fatalf("Write(%q) of %q = %d, %v", rest[:n], log, m, err)
		}
		rest = rest[n:]
	}
	if err := p.Close(); err != nil {
		t.Errorf("Close after %q = %v", log, err)
	}
	if out.String() != wantOut || errs.String() != wantErr {
		t.Errorf("%q: stdout %q, stderr %q, want %q, %q", log, out.String(), errs.String(), wantOut, wantErr)
	}
	var order strings.Builder
	for _, w := range writes {
		order.WriteString(w.text)
	}
	if both.String() != order.String() {
		t.Errorf("%q: in order %q, want %q", log, both.String(), order.String())
	}
	checkLines(t, log)
}

// checkLines checks that each line has a prefix.
func checkLines(t *testing.T, log []byte) {
	t.Helper()
	for line := range bytes.Lines(log) {
		if !bytes.HasPrefix(line, []byte("\x01\x01\x01")) && !bytes.HasPrefix(line, []byte("\x02\x02\x02")) {
			t.Errorf("%q: the line %q has no prefix", log, line)
		}
	}
}

// TestCombinedPlain checks that a reader that only removes the prefixes gets complete lines of text
// unchanged.
func TestCombinedPlain(t *testing.T) {
	log, wantOut, wantErr := encode([]written{{Stdout, "one\ntwo\n"}, {Stderr, "bad\n"}, {Stdout, "three\n"}})
	var out, errs strings.Builder
	for line := range bytes.Lines(log) {
		if text, ok := bytes.CutPrefix(line, []byte("\x01\x01\x01")); ok {
			out.Write(text)
		} else {
			errs.Write(bytes.TrimPrefix(line, []byte("\x02\x02\x02")))
		}
	}
	if out.String() != wantOut || errs.String() != wantErr {
		t.Errorf("stdout %q, stderr %q", out.String(), errs.String())
	}
}

func TestParserMalformed(t *testing.T) {
	for log, want := range map[string]error{
		"x": errMalformed, "\x01\x02": errMalformed, "\x01\x01\x01a\nb": errMalformed, "\x01\x01\x01\x01x": errMalformed,
		"\x02\x02\x02\x02\n": errMalformed, "\x01\x01\x01\x01\x01\x01": errMalformed,
		"\x01": io.ErrUnexpectedEOF, "\x01\x01\x01a\x02": io.ErrUnexpectedEOF, "\x01\x01\x01": nil, "\x01\x01\x01\x01\n": nil,
	} {
		p := &Parser{Out: io.Discard, Err: io.Discard}
		_, err := p.Write([]byte(log))
		if err == nil {
			err = p.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", log, err, want)
		}
	}
}

// FuzzCombined checks that parsing the encoded writes returns them.
func FuzzCombined(f *testing.F) {
	f.Add([]byte("a\nb"), []byte("\x01\x02"), uint8(3))
	f.Add([]byte("\x01\x01\x01\n\x02\x02\x02"), []byte("\x00\n\n"), uint8(1))
	f.Fuzz(func(t *testing.T, text, cuts []byte, piece uint8) {
		var writes []written
		for i := 0; len(text) > 0; i++ {
			n, s := len(text), Stdout
			if i < len(cuts) {
				n = min(n, int(cuts[i]>>1))
				s += Stream(cuts[i] & 1)
			}
			writes = append(writes, written{s, string(text[:n])})
			text = text[n:]
		}
		checkParsed(t, writes, int(piece)+1)
	})
}

// FuzzParser checks that the parser does not panic, and that its output is not longer than its
// input. Parsing in pieces must give the same result as parsing at once.
func FuzzParser(f *testing.F) {
	f.Add([]byte("\x01\x01\x01a\x01\n\x02\x02\x02E\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		var whole, parts bytes.Buffer
		p := &Parser{Out: &whole, Err: &whole}
		_, err := p.Write(log)
		q := &Parser{Out: &parts, Err: &parts}
		var qerr error
		for i := 0; i < len(log) && qerr == nil; i++ {
			_, qerr = q.Write(log[i : i+1])
		}
		if (err == nil) != (qerr == nil) || whole.Len() > len(log) {
			t.Fatalf("%q: whole %v, in pieces %v; %d bytes", log, err, qerr, whole.Len())
		}
		if err == nil && (whole.String() != parts.String() || !errors.Is(p.Close(), q.Close())) {
			t.Errorf("%q: whole %q, in pieces %q", log, whole.String(), parts.String())
		}
	})
}
