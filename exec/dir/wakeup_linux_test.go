// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWakeupUntrusted checks that a file of another kind, or a pipe without a reader, is no wakeup.
//
// Attack 162.
func TestWakeupUntrusted(t *testing.T) {
	for _, tt := range untrustedFiles {
		t.Run(tt.name, func(t *testing.T) {
			b, at, canary := newUntrustedDir(t)
			if err := tt.plant(at+"/x.bell", canary); err != nil {
				t.Fatal(err)
			}
			if l := b.Wakeup("x.bell"); l != nil {
				l.Close()
				t.Error("it is taken for a wakeup")
			}
		})
	}
}

// TestWakeup wakes a reader, also when the pipe is full, and notices that the reader has gone.
//
// Attack 162.
func TestWakeup(t *testing.T) {
	b, at, _ := newUntrustedDir(t)
	if err := unix.Mkfifo(at+"/x.bell", 0o622); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(at+"/x.bell", unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	reader := os.NewFile(uintptr(fd), "x.bell")
	defer reader.Close()
	l := b.Wakeup("x.bell")
	defer l.Close()
	for range 1 << 17 { // more than a pipe holds
		l.Notify()
	}
	if n, err := reader.Read(make([]byte, 1)); n != 1 || err != nil || l.NoReader() {
		t.Errorf("the reader has %d bytes, %v; NoReader: %v", n, err, l.NoReader())
	}
	reader.Close()
	l.Notify()
	if !l.NoReader() {
		t.Error("NoReader = false after the reader has closed the pipe")
	}
}

// TestWakeupHardLink checks that a pipe with a second name is refused: it may be a hard link to a pipe of the host.
//
// Attack 162.
func TestWakeupHardLink(t *testing.T) {
	b, at, _ := newUntrustedDir(t)
	other := at + "/other"
	if err := unix.Mkfifo(other, 0o622); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(other, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := os.Link(other, at+"/x.bell"); err != nil {
		t.Fatal(err)
	}
	if l := b.Wakeup("x.bell"); l != nil {
		l.Close()
		t.Error("it is taken for a wakeup")
	}
}
