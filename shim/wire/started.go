// SPDX-License-Identifier: Apache-2.0

package wire

// Disposition is what the host did with one of the caller's descriptors.
type Disposition byte

const (
	Null   Disposition = iota // the command has /dev/null there
	Taken                     // the command has the passed descriptor
	Copied                    // the bytes travel as frames
	PTY                       // a terminal on the host, whose bytes travel as frames
)

// Copies reports whether the bytes of the descriptor travel as frames.
func (d Disposition) Copies() bool { return d == Copied || d == PTY }

// Started is the message that the command runs, or that the output of a verb or a text follows.
type Started struct {
	FDs     [3]Disposition
	Request string // the host's id of the call
}

// Append appends the payload of m.
func (m *Started) Append(b []byte) []byte {
	b = append(b, byte(m.FDs[0]), byte(m.FDs[1]), byte(m.FDs[2]))
	return append(b, m.Request...)
}

// ParseStarted is the inverse of Append.
func ParseStarted(p []byte) (Started, error) {
	if len(p) < 3 {
		return Started{}, ErrMalformed
	}
	m := Started{Request: string(p[3:])}
	for i := range m.FDs {
		m.FDs[i] = Disposition(p[i])
		if m.FDs[i] > PTY {
			return Started{}, ErrMalformed
		}
	}
	return m, nil
}
