// SPDX-License-Identifier: Apache-2.0

package dir

// Bell is a named pipe that somebody else reads, so as to be woken. What is written means
// nothing, and keeps nobody waiting who writes it. A nil Bell wakes nobody.
type Bell struct{ fd int }

// Bell opens the named pipe name. It is nil where there is none that somebody reads.
func (b *Box) Bell(name string) *Bell { return b.bell(name) }

// Ring wakes the reader.
func (l *Bell) Ring() {
	if l != nil {
		ring(l.fd)
	}
}

// Deserted reports whether nobody can read it any more.
func (l *Bell) Deserted() bool { return l != nil && deserted(l.fd) }

// Close lets it go.
func (l *Bell) Close() {
	if l != nil {
		_ = closeHeld(l.fd) // nothing is in it that could be lost
	}
}
