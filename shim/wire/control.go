// SPDX-License-Identifier: Apache-2.0

package wire

const (
	winsizeLen = 8
	creditLen  = 4
	maxSignal  = 16
)

// Append appends the payload of a Winsize frame.
func (w Winsize) Append(b []byte) []byte {
	for _, n := range [...]uint16{w.Rows, w.Cols, w.X, w.Y} {
		b = append(b, byte(n>>8), byte(n))
	}
	return b
}

// ParseWinsize is the inverse of Winsize.Append.
func ParseWinsize(p []byte) (Winsize, error) {
	if len(p) != winsizeLen {
		return Winsize{}, ErrMalformed
	}
	return winsizeAt(p), nil
}

func winsizeAt[T string | []byte](p T) Winsize {
	at := func(i int) uint16 { return uint16(p[i])<<8 | uint16(p[i+1]) }
	return Winsize{Rows: at(0), Cols: at(2), X: at(4), Y: at(6)}
}

// AppendCredit appends the payload of a Credit frame: n bytes more.
func AppendCredit(b []byte, n uint32) []byte { return appendUint32(b, n) }

// ParseCredit is the inverse of AppendCredit. A credit larger than the window is malformed, so the number
// fits into an int of 32 bits.
func ParseCredit(p []byte) (uint32, error) {
	if len(p) != creditLen {
		return 0, ErrMalformed
	}
	n := uint32At(p)
	if n > Window {
		return 0, ErrMalformed
	}
	return n, nil
}

// A Signal frame with one of these names sets the target of the next signal. The default is ToCommand.
const (
	ToCommand = "COMMAND" // the command only
	ToGroup   = "GROUP"   // the command's process group, or the foreground group of its terminal
)

// Signal is a signal that has the same number on all our architectures.
type Signal struct {
	Number byte
	Name   string
}

// Signals are the signals that a shim forwards: those that end a program which does not handle them, and three more.
// Some are missing. The kernel sends PIPE and XFSZ to a shim for its own writes, and Go's runtime cannot subscribe to
// PROF. Real-time signals are rare. A shim dies of XFSZ, PROF and real-time signals (plugin/inject/signals.sed).
// CONT is the last one: tests wait for its handler to know that all are subscribed.
var Signals = [...]Signal{
	{2, "INT"}, {15, "TERM"}, {1, "HUP"}, {3, "QUIT"}, {10, "USR1"}, {12, "USR2"}, {14, "ALRM"}, {6, "ABRT"},
	{4, "ILL"}, {5, "TRAP"}, {7, "BUS"}, {8, "FPE"}, {11, "SEGV"}, {16, "STKFLT"}, {24, "XCPU"}, {26, "VTALRM"},
	{29, "IO"}, {30, "PWR"}, {31, "SYS"},
	{28, "WINCH"}, {20, "TSTP"}, {18, "CONT"},
}

// Fatal returns the number of the forwarded signal with this name if it ends a program that does not handle it, else 0.
func Fatal(name string) byte {
	for _, s := range Signals[:len(Signals)-3] {
		if s.Name == name {
			return s.Number
		}
	}
	return 0
}

// AppendSignal appends the payload of a Signal frame: a name such as TERM.
func AppendSignal(b []byte, name string) []byte { return append(b, name...) }

// AppendDelivery appends two Signal frames: the target of a signal, and its name.
func AppendDelivery(b []byte, name string, toGroup bool) []byte {
	to := ToCommand
	if toGroup {
		to = ToGroup
	}
	return AppendFrame(AppendFrame(b, KindSignal, []byte(to)), KindSignal, []byte(name))
}

// signalName reports whether p can be the name of a signal: at most 16 characters of A-Z, 0-9, + and -
// (RTMIN+1).
func signalName(p []byte) bool {
	for _, c := range p {
		if !(c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '-') {
			return false
		}
	}
	return len(p) <= maxSignal
}
