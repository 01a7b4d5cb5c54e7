// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openPath opens a file or directory with O_PATH until the test ends.
func openPath(t *testing.T, path string) int {
	t.Helper()
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// TestMetadataClose closes a MetadataServer while a call is compared with the granted directories. Their numbers stay
// in use until Serve returns: otherwise the call would be compared with whatever is opened next. A pipe stands for the
// listener, because both wait in poll(2) until Close.
func TestMetadataClose(t *testing.T) {
	granted, other := t.TempDir(), t.TempDir()
	file := filepath.Join(granted, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	inside, outside := openPath(t, file), openPath(t, other)
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[1])
	m, err := newMetadataServer(p[0], []int{openPath(t, granted)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	roots := m.roots
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	reused := openPath(t, other) // takes the lowest number that is free
	if !m.permits(inside, false) || m.permits(outside, true) {
		t.Errorf("after Close: permits(inside) = %v, permits(outside) = %v", m.permits(inside, false), m.permits(outside, true))
	}
	if len(roots) != 1 || roots[0] == reused {
		t.Errorf("the granted directories are %d; %d is another directory now", roots, reused)
	}
	if err := m.Serve(); err == nil {
		t.Error("Serve succeeds after Close")
	}
	if _, err := unix.FcntlInt(uintptr(roots[0]), unix.F_GETFD, 0); err != unix.EBADF {
		t.Errorf("after Serve, the granted directory is still open: %v", err)
	}
}

// TestMetadataCloseEndsServe closes a MetadataServer while Serve waits for a call.
func TestMetadataCloseEndsServe(t *testing.T) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[1])
	m, err := newMetadataServer(p[0], nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- m.Serve() }() // ends with Close
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-served:
		if err == nil {
			t.Error("Serve reports that the last process has ended")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("Serve does not return")
	}
}
