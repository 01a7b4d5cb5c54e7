// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

var someExecs = []Exec{
	{Args: []string{"make"}},
	{
		FDs:     [3]FD{FDTTY, FDTTY, FDPipe},
		Passed:  0b100,
		Winsize: Winsize{Rows: 24, Cols: 80, X: 640, Y: 65535},
		Args:    []string{"/usr/local/bin/make", "", "a b\n", "\xff\xfe"},
		Cwd:     "/w",
		Env:     []string{"A=1", "B=", "nonsense"},
	},
	{FDs: [3]FD{FDFile, FDFile, FDFile}, SameOut: true, Args: []string{"", strings.Repeat("x", 120<<10)}},
}

func TestExecRoundTrip(t *testing.T) {
	for _, m := range someExecs {
		got, err := ParseExec(string(m.Append(nil)))
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("ParseExec(Append(%+v)) = %+v, %v", m, got, err)
		}
	}
}

// Attack 25.
func TestParseExecRefuses(t *testing.T) {
	good := (&Exec{Args: []string{"ab"}, Cwd: "/", Env: []string{"A=b"}}).Append(nil)
	if _, err := ParseExec(string(good)); err != nil {
		t.Fatalf("ParseExec(%q): %v", good, err)
	}
	set := func(i int, c byte) []byte {
		b := bytes.Clone(good)
		b[i] = c
		return b
	}
	huge := bytes.Repeat([]byte{0xff}, 8)
	tests := []struct {
		name string
		p    []byte
		want error
	}{
		{"nothing", nil, ErrMalformed},
		{"another version, and nothing else", []byte{Version + 1}, ErrVersion},
		{"version alone", []byte{Version}, ErrMalformed},
		{"unknown descriptor", set(2, byte(FDOther)+1), ErrMalformed},
		{"a fourth descriptor passed", set(4, 8), ErrMalformed},
		{"flags", set(5, 2), ErrMalformed},
		{"no argument", (&Exec{Cwd: "/"}).Append(nil), ErrMalformed},
		{"NUL in an argument", (&Exec{Args: []string{"a\x00b"}}).Append(nil), ErrMalformed},
		{"NUL in cwd", (&Exec{Args: []string{"a"}, Cwd: "/\x00"}).Append(nil), ErrMalformed},
		{"NUL in env", (&Exec{Args: []string{"a"}, Env: []string{"\x00"}}).Append(nil), ErrMalformed},
		{"left over", append(bytes.Clone(good), 0), ErrMalformed},
		{"more arguments than fit", append(bytes.Clone(good[:execFixed]), huge...), ErrMalformed},
		{"argument longer than the rest", set(execFixed+7, 200), ErrMalformed},
	}
	for i := range good {
		if _, err := ParseExec(string(good[:i])); err == nil {
			t.Errorf("ParseExec of the first %d of %d bytes: no error", i, len(good))
		}
	}
	for _, tt := range tests {
		if m, err := ParseExec(string(tt.p)); !errors.Is(err, tt.want) {
			t.Errorf("%s: ParseExec(%q) = %+v, %v, want %v", tt.name, tt.p, m, err, tt.want)
		}
	}
}

// TestParseExecFalseLength sends a count of strings that is too high. For two megabytes of
// empty strings, the string headers take eight megabytes. ParseExec must detect the error before it
// allocates them.
//
// Attack 40.
func TestParseExecFalseLength(t *testing.T) {
	p := (&Exec{Args: []string{"a"}}).Append(nil)
	p = p[:execFixed]
	p = appendUint32(p, MaxExec/4)
	p = append(p, make([]byte, MaxExec-len(p)-1)...)
	p[len(p)-1] = 1 // the last string is cut
	text := string(p)
	if n := testing.AllocsPerRun(10, func() {
		if _, err := ParseExec(text); err == nil {
			t.Error("no error")
		}
	}); n != 0 {
		t.Errorf("ParseExec of a lie allocates %v times, want 0", n)
	}
}

// TestCheckExecAllocates checks that the strings of a request are counted before any memory is taken for them, and
// that parsing takes no memory but that of the lists.
//
// Attack 40.
func TestCheckExecAllocates(t *testing.T) {
	p := string((&Exec{Args: make([]string, 1000), Cwd: "/", Env: make([]string, 500)}).Append(nil))
	if n := testing.AllocsPerRun(10, func() {
		if n, err := CheckExec(p); n != 1500 || err != nil {
			t.Errorf("CheckExec = %d, %v, want 1500", n, err)
		}
	}); n != 0 {
		t.Errorf("CheckExec allocates %v times, want 0", n)
	}
	if n := testing.AllocsPerRun(10, func() { ParseExec(p) }); n != 2 {
		t.Errorf("ParseExec allocates %v times, want 2", n)
	}
}

func TestExitRoundTrip(t *testing.T) {
	for _, m := range []Exit{
		{},
		{Outcome: Exited, Code: 255, Consumed: 1<<63 + 5},
		{Outcome: Signaled, Code: 137, Signal: "KILL"},
		{Outcome: Refused, Code: CodeRefused, Text: "hostexec: no\nhostexec: hint: yes\n"},
	} {
		got, err := ParseExit(m.Append(nil))
		if err != nil || got != m {
			t.Errorf("ParseExit(Append(%+v)) = %+v, %v", m, got, err)
		}
	}
	long := Exit{Text: strings.Repeat("x", MaxFrame)}
	if n := len(long.Append(nil)); n != MaxFrame {
		t.Errorf("an Exit with too long a text has %d bytes, want %d", n, MaxFrame)
	}
}

func TestParseRefuses(t *testing.T) {
	exit := func(p []byte) error { _, err := ParseExit(p); return err }
	started := func(p []byte) error { _, err := ParseStarted(p); return err }
	size := func(p []byte) error { _, err := ParseWinsize(p); return err }
	credit := func(p []byte) error { _, err := ParseCredit(p); return err }
	head := func(outcome Outcome, signal string) []byte {
		return append([]byte{byte(outcome), 0, 0, 0, 0, 0, 0, 0, 0, 0, byte(len(signal))}, signal...)
	}
	tests := []struct {
		name  string
		parse func([]byte) error
		p     []byte
	}{
		{"credit beyond the window", credit, AppendCredit(nil, Window+1)},
		{"credit that is negative in 32 bits", credit, AppendCredit(nil, 1<<31)},
		{"all credit there is", credit, AppendCredit(nil, 1<<32-1)},
		{"empty exit", exit, nil},
		{"unknown outcome", exit, head(TimedOut+1, "")},
		{"signal longer than the frame", exit, head(Signaled, "TERM")[:13]},
		{"signal without a name", exit, head(Signaled, "")},
		{"a name that is none", exit, head(Signaled, "te\n")},
		{"exited, with a signal", exit, head(Exited, "TERM")},
		{"short started", started, []byte{0, 0}},
		{"unknown disposition", started, []byte{0, 0, byte(PTY) + 1}},
		{"short size", size, make([]byte, 7)},
		{"long size", size, make([]byte, 9)},
		{"long credit", credit, make([]byte, 5)},
	}
	for _, tt := range tests {
		if err := tt.parse(tt.p); err != ErrMalformed {
			t.Errorf("%s: %q: error %v, want %v", tt.name, tt.p, err, ErrMalformed)
		}
	}
}

// Attack 40.
func TestParseHeader(t *testing.T) {
	tests := []struct {
		name string
		k    Kind
		n    int
		want error
	}{
		{"longest request", KindExec, MaxExec, nil},
		{"request too long", KindExec, MaxExec + 1, ErrTooLong},
		{"longest stdin", KindStdin, MaxFrame, nil},
		{"stdin too long", KindStdin, MaxFrame + 1, ErrTooLong},
		{"more than an int of 32 bits", KindStdout, -1, ErrTooLong},
		{"empty", KindStopped, 0, nil},
		{"an end with something in it", KindStdinEOF, 1, ErrTooLong},
		{"none", 0, 0, ErrKind},
		{"unknown", KindFallback + 1, 0, ErrKind},
	}
	for _, tt := range tests {
		k, n, err := ParseHeader(AppendHeader(nil, tt.k, tt.n))
		if err != tt.want || err == nil && (k != tt.k || n != tt.n) {
			t.Errorf("%s: ParseHeader = %v, %v, %v, want %v, %v, %v", tt.name, k, n, err, tt.k, tt.n, tt.want)
		}
	}
}

// Attack 40.
func TestReadFrame(t *testing.T) {
	frame := AppendFrame(nil, KindStdout, []byte("0123456789"))
	tests := []struct {
		name string
		in   []byte
		want error
	}{
		{"whole", frame, nil},
		{"nothing", nil, io.EOF},
		{"half a header", frame[:3], io.ErrUnexpectedEOF},
		{"header alone", frame[:HeaderLen], io.ErrUnexpectedEOF},
		{"half a payload", frame[:9], io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		for _, buf := range [][]byte{nil, make([]byte, 0, 7), make([]byte, 99)} {
			k, p, err := ReadFrame(iotest.OneByteReader(bytes.NewReader(tt.in)), buf)
			if err != tt.want {
				t.Errorf("%s, buffer of %d: error %v, want %v", tt.name, cap(buf), err, tt.want)
			}
			if err == nil && (k != KindStdout || string(p) != "0123456789") {
				t.Errorf("%s, buffer of %d: %v %q", tt.name, cap(buf), k, p)
			}
		}
	}
}
