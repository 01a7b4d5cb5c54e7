// SPDX-License-Identifier: Apache-2.0

package wire

// Exit codes for calls that did not end with a status of the command. Well-known programs use the same
// codes for the same meanings, so scripts can handle them alike. A command may return these codes too.
const (
	// CodeTimeout is used by timeout(1) of coreutils: the decision was not made in time, or the command
	// exceeded its time limit.
	CodeTimeout = 124
	// CodeFailed is used by docker run, timeout(1) and env(1) for their own failures. Here hostexec failed, lacks what
	// the call needs, or is gone from the host.
	CodeFailed = 125
	// CodeRefused is used by POSIX sh for a command that cannot be executed. Here the policy, a limit or a person
	// refused it, or it is not executable.
	CodeRefused = 126
	// CodeNotFound is used by POSIX sh for a command that does not exist. Here it is not proxied, or not on the host or
	// in the image.
	CodeNotFound = 127
)

// Outcome is the result of a call. The zero value means failure: success must be explicit.
type Outcome byte

const (
	Failed   Outcome = iota // the command could not be run, or hostexec failed
	Exited                  // the command, or a verb of hostexec, returned Code
	Signaled                // the command ran and died of Signal
	Refused                 // the command was not allowed to run
	TimedOut                // a time limit ended
)

// Exit is the last frame of a call. In a call container, it has other values: see package initproc.
type Exit struct {
	Outcome  Outcome
	Code     byte   // exit code of the shim
	Signal   string // name such as TERM of the signal that killed the command, if Signaled
	Consumed uint64 // bytes of a copied stdin that the command has read, or Withheld
	Text     string // complete lines for the shim's stderr, or empty
}

// Withheld is the Consumed of a command that got no stdin although its caller has one. The shim prints Text only if its
// stdin has data.
const Withheld = 1 << 58

// exitFixed is the length of an Exit before its strings: outcome, code, consumed, and the length of the
// signal's name.
const exitFixed = 1 + 1 + 8 + 1

// Append appends the payload of m. It cuts a text that is too long for a frame.
func (m *Exit) Append(b []byte) []byte {
	b = append(b, byte(m.Outcome), m.Code)
	b = appendUint32(b, uint32(m.Consumed>>32))
	b = appendUint32(b, uint32(m.Consumed))
	name := m.Signal[:min(len(m.Signal), maxSignal)]
	b = append(append(b, byte(len(name))), name...)
	return append(b, m.Text[:min(len(m.Text), MaxFrame-exitFixed-len(name))]...)
}

// ParseExit is the inverse of Append. A signal name must be there for Signaled, and only then.
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
