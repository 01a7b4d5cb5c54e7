// SPDX-License-Identifier: Apache-2.0

package dir

// Wakeup is a named pipe whose reader waits to be woken. The data has no meaning, and writing never blocks. The methods
// of a nil Wakeup do nothing.
type Wakeup struct{ fd int }

// Wakeup opens the named pipe name. It returns nil if there is none, or if the pipe has no reader.
func (d *UntrustedDir) Wakeup(name string) *Wakeup { return d.wakeup(name) }

// Notify wakes the reader.
func (w *Wakeup) Notify() {
	if w != nil {
		notify(w.fd)
	}
}

// NoReader reports whether the reader has closed the pipe.
func (w *Wakeup) NoReader() bool { return w != nil && noReader(w.fd) }

// Close closes the pipe.
func (w *Wakeup) Close() {
	if w != nil {
		_ = closeFD(w.fd) // no data can be lost
	}
}
