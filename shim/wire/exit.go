// SPDX-License-Identifier: Apache-2.0

package wire

// Exit codes of ours, for calls that did not end as a command of their own accord. Each
// is what a neighbour already uses for the same thing, so that scripts that know those
// know ours; a command may return them too, and then they are its own.
const (
	// CodeTimeout is what timeout(1) of coreutils returns: nobody decided in time, or
	// the command ran longer than it may.
	CodeTimeout = 124
	// CodeFailed is what docker run, timeout(1) and env(1) return when they failed and
	// not the command: the host side is gone, or spoke nonsense.
	CodeFailed = 125
	// CodeRefused is what POSIX sh returns for a command that it found and may not
	// execute: refused by policy or a person, or not executable there.
	CodeRefused = 126
	// CodeNotFound is what POSIX sh returns for a command that it did not find.
	CodeNotFound = 127
)

// Outcome is how a call ended. Its zero value is failure: success must be said.
type Outcome byte

const (
	// Failed: hostexec itself could not.
	Failed Outcome = iota
	// Exited: the command ran and returned Code.
	Exited
	// Signaled: the command ran and died of Signal.
	Signaled
	// Refused: the command was not allowed to run.
	Refused
	// TimedOut: time was up.
	TimedOut
)

// Exit is the last frame of a call.
type Exit struct {
	Outcome  Outcome
	Code     byte   // what the shim exits with
	Signal   string // the name of what it died of, such as TERM, if it was Signaled
	Consumed uint64 // bytes of a pumped stdin that the command really read, or Withheld
	Text     string // whole lines for the shim's stderr, or empty
}

// Withheld is the Consumed of a command that got no stdin, although its caller has one. Then Text is
// the message for a caller whose stdin has data.
const Withheld = 1 << 58

// exitFixed is the length of an Exit before its strings: outcome, code, consumed, and
// the length of the signal's name.
const exitFixed = 1 + 1 + 8 + 1

// Append appends the payload of m. A text too long for a frame is cut.
func (m *Exit) Append(b []byte) []byte {
	b = append(b, byte(m.Outcome), m.Code)
	b = appendUint32(b, uint32(m.Consumed>>32))
	b = appendUint32(b, uint32(m.Consumed))
	name := m.Signal[:min(len(m.Signal), maxSignal)]
	b = append(append(b, byte(len(name))), name...)
	return append(b, m.Text[:min(len(m.Text), MaxFrame-exitFixed-len(name))]...)
}

// ParseExit is the inverse of Append. A name belongs to Signaled and to nothing else.
func ParseExit(p []byte) (Exit, error) {
	if len(p) < exitFixed || Outcome(p[0]) > TimedOut {
		return Exit{}, ErrMalformed
	}
	m := Exit{
		Outcome:  Outcome(p[0]),
		Code:     p[1],
		Consumed: uint64(uint32At(p[2:]))<<32 | uint64(uint32At(p[6:])),
	}
	n, rest := int(p[10]), p[exitFixed:]
	if n > len(rest) || !signalName(rest[:n]) || (n > 0) != (m.Outcome == Signaled) {
		return Exit{}, ErrMalformed
	}
	m.Signal, m.Text = string(rest[:n]), string(rest[n:])
	return m, nil
}
