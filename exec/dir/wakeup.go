// SPDX-License-Identifier: Apache-2.0

package dir

// Wakeup is a named pipe that somebody else reads, so as to be woken. What is written means
// nothing, and keeps nobody waiting who writes it. A nil Bell wakes nobody.
type Wakeup struct{ fd int }

// Wakeup opens the named pipe name. It is nil where there is none that somebody reads.
func (b *SharedDir) Wakeup(name string) *Wakeup { return b.wakeup(name) }

// Notify wakes the reader.
func (l *Wakeup) Notify() {
	if l != nil {
		notify(l.fd)
	}
}

// NoReader reports whether nobody can read it any more.
func (l *Wakeup) NoReader() bool { return l != nil && noReader(l.fd) }

// Close lets it go.
func (l *Wakeup) Close() {
	if l != nil {
		_ = closeFD(l.fd) // nothing is in it that could be lost
	}
}
