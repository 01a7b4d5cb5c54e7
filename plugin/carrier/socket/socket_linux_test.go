// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

func listen(t *testing.T) (dir string, ln net.Listener) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ln, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return dir, ln
}

func openFDs(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestListen(t *testing.T) {
	dir, ln := listen(t)
	if fi, err := os.Stat(filepath.Join(dir, Name)); err != nil || fi.Mode().Perm() != 0o666 {
		t.Errorf("socket: %v, %v, want 0666", fi.Mode(), err)
	}
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, Name)); !os.IsNotExist(err) {
		t.Errorf("Close left the socket: %v", err)
	}
}

// TestCloseRemoved closes a listener whose directory another process, for example the launcher, has removed.
func TestCloseRemoved(t *testing.T) {
	dir, ln := listen(t)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
}

// A socket left by a watcher that was killed does not keep the next one from its place.
func TestListenAgain(t *testing.T) {
	dir, ln := listen(t)
	ln.(*listener).ln.Close() // as the kernel would
	again, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if c, err := state.Dial(dir, Name); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
}

// Attacks 26, 27.
func TestPassed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		send   int // descriptors with the first byte
		later  int // with the second
		want   int
		failed bool
	}{
		{"none", 0, 0, 0, false},
		{"three", 3, 0, 3, false},
		{"four are seen as too many by whoever counts", 4, 0, 4, false},
		{"a flood", 200, 0, 0, true},
		{"with a later byte", 1, 3, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			share, ln := listen(t)
			before := openFDs(t)
			dialed, err := state.Dial(share, Name)
			if err != nil {
				t.Fatal(err)
			}
			c, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			pass(t, dialed, tt.send)
			pass(t, dialed, tt.later)
			_, err = io.ReadFull(c, make([]byte, 1))
			if err == nil {
				_, err = io.ReadFull(c, make([]byte, 1))
			}
			if (err != nil) != tt.failed {
				t.Errorf("read: %v, want failed %v", err, tt.failed)
			}
			fds := c.(*conn).Passed()
			if len(fds) != tt.want {
				t.Errorf("%d descriptors, want %d", len(fds), tt.want)
			}
			dir.CloseReceived(fds...)
			dialed.Close()
			c.Close()
			if after := openFDs(t); after > before { // less: the collector has closed what was left
				t.Errorf("%d descriptors are open, %d were before", after, before)
			}
		})
	}
}

// pass sends one byte with n descriptors.
func pass(t *testing.T, c *net.UnixConn, n int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	fds := make([]int, n)
	for i := range fds {
		fds[i] = int(r.Fd())
	}
	var oob []byte
	if n > 0 {
		oob = unix.UnixRights(fds...)
	}
	if _, _, err := c.WriteMsgUnix([]byte{0}, oob, nil); err != nil {
		t.Fatal(err)
	}
}

// A descriptor of another kind is closed as it comes, with those that came along.
//
// Attack 28.
func TestPassedOther(t *testing.T) {
	dir, ln := listen(t)
	before := openFDs(t)
	dialed, err := state.Dial(dir, Name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{os.DevNull, "/etc/passwd", "/", "/proc/self/environ", "/dev/ptmx"} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := dialed.WriteMsgUnix([]byte{0}, unix.UnixRights(int(r.Fd()), int(f.Fd())), nil); err != nil {
			t.Fatal(err)
		}
		f.Close()
		c.(*conn).received = false // as if it were the first message of a connection
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s is accepted", name)
		}
		if fds := c.(*conn).Passed(); len(fds) != 0 {
			t.Errorf("%s: %d descriptors are kept", name, len(fds))
		}
	}
	r.Close()
	w.Close()
	dialed.Close()
	c.Close()
	if after := openFDs(t); after > before {
		t.Errorf("%d descriptors are open, %d were before", after, before)
	}
}

// What nobody took is closed with the connection, also when nothing was ever read.
//
// Attack 27.
func TestCloseDropsDescriptors(t *testing.T) {
	dir, ln := listen(t)
	before := openFDs(t)
	dialed, err := state.Dial(dir, Name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	pass(t, dialed, 2)
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	dialed.Close()
	c.Close()
	if after := openFDs(t); after != before {
		t.Errorf("%d descriptors are open, %d were before", after, before)
	}
}
