// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// lingering returns a TCP socket whose last close(2) waits for five minutes, because nobody reads
// its data and SO_LINGER is set (socket(7)).
func lingering(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: ln.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	peer, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { peer.Close(); ln.Close() })
	if err := unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 300}); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; {
		_, err = unix.Write(fd, make([]byte, 1<<20))
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	return fd
}

// TestLinger passes a descriptor whose close blocks, for each of the places that may close it last.
// The connection must be closed nevertheless.
//
// Attack 27.
func TestLinger(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first string // what comes before it
		read  bool   // the bytes that it comes with are read
	}{
		{"with the first bytes", "", true},
		{"with later bytes", "x", true},
		{"never read", "x", false},
		{"nothing read at all", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, ln := listen(t)
			c, err := state.Dial(dir, Name)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			s, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 1)
			if tt.first != "" {
				if _, err := c.Write([]byte(tt.first)); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Read(b); err != nil {
					t.Fatal(err)
				}
			}
			fd := lingering(t)
			if _, _, err := c.WriteMsgUnix([]byte("x"), unix.UnixRights(fd), nil); err != nil {
				t.Fatal(err)
			}
			unix.Close(fd) // the last is in the message
			done := make(chan error, 1)
			// ends with the close that is tested.
			go func() {
				if tt.read {
					s.Read(b)
				}
				done <- s.Close()
			}()
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("the connection is not closed after 30 s")
			}
		})
	}
}
