// SPDX-License-Identifier: Apache-2.0

package dir

// Wakeup is a named pipe whose reader waits to be woken. The data has no meaning, and writing never blocks. The methods of
// a nil Wakeup do nothing.
type Wakeup struct{ fd int }

// Wakeup opens the named pipe name. It is nil if there is none, or none with a reader.
func (d *SharedDir) Wakeup(name string) *Wakeup { return d.wakeup(name) }

// Notify wakes the reader.
func (l *Wakeup) Notify() {
	if l != nil {
		notify(l.fd)
	}
}

// NoReader reports whether the reader has closed the pipe.
func (l *Wakeup) NoReader() bool { return l != nil && noReader(l.fd) }

// Close closes the pipe.
func (l *Wakeup) Close() {
	if l != nil {
		_ = closeFD(l.fd) // no data can be lost
	}
}
