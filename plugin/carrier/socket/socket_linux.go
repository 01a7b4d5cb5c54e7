// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// Listen creates the socket in share. Every user id of a container that mounts share can connect to it. On this host,
// only processes of this user and of root can, because share's parent is private. Close removes the socket.
func Listen(share string) (net.Listener, error) {
	ln, err := Bind(share, Name, 0o666)
	if err != nil {
		return nil, fmt.Errorf("listen for calls: %w", err)
	}
	return &listener{ln: ln, path: filepath.Join(share, Name)}, nil
}

// Bind listens on the unix socket name in dir. It reaches dir through /proc, because sun_path has only 108 bytes
// (unix(7)). It replaces a file of that name. The caller ensures that no process listens there.
func Bind(dir, name string, mode fs.FileMode) (*net.UnixListener, error) {
	path := filepath.Join(dir, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	// The umask sets the mode at the creation of the socket: a client could connect before a chmod. No other goroutine
	// creates files yet when a watcher binds its sockets.
	old := unix.Umask(int(^mode & 0o777))
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), name)})
	unix.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("bind %s: %w", path, errors.Unwrap(err))
	}
	ln.SetUnlinkOnClose(false) // the path above is not valid after this function
	return ln, nil
}

type listener struct {
	ln   *net.UnixListener
	path string
}

func (s *listener) Accept() (net.Conn, error) {
	c, err := s.ln.AcceptUnix()
	if err != nil {
		return nil, err
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &conn{UnixConn: c, raw: raw}, nil
}

func (s *listener) Addr() net.Addr { return s.ln.Addr() }

func (s *listener) Close() error {
	return errors.Join(s.ln.Close(), dir.RemoveFile(s.path))
}

// maxFDs is one more than a call may pass, so that an excess is noticed.
const maxFDs = 4

// conn receives descriptors with the first bytes only. The kernel drops later descriptors, because later reads have no
// space for them.
type conn struct {
	*net.UnixConn
	raw syscall.RawConn

	mu       sync.Mutex // guards the fields below
	received bool
	closed   bool
	fds      []int
}

func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	received := c.received
	c.received = true
	c.mu.Unlock()
	if received || !dir.MayReceive() {
		return c.receive(p, func(fd int) (int, error) { return unix.Read(fd, p) })
	}
	oob := make([]byte, unix.CmsgSpace(maxFDs*4))
	var fds []int
	var ferr error
	n, err := c.receive(p, func(fd int) (n int, err error) {
		fds, ferr = dir.Receive(func() ([]int, error) {
			var oobn, flags int
			n, oobn, flags, _, err = unix.Recvmsg(fd, p, oob, unix.MSG_CMSG_CLOEXEC)
			return rights(oob[:max(oobn, 0)], flags)
		})
		return n, err
	})
	if ferr != nil {
		dir.CloseReceived(fds...)
		return 0, ferr
	}
	if err := c.keep(fds); err != nil {
		return 0, err
	}
	return n, err
}

// receive reads into p by a system call in which the kernel closes the descriptors for which there is no space.
func (c *conn) receive(p []byte, read func(fd int) (int, error)) (n int, err error) {
	rerr := c.raw.Read(func(fd uintptr) bool {
		dir.InterruptibleClose(func() {
			for err = unix.EINTR; err == unix.EINTR; {
				n, err = read(int(fd))
			}
		})
		return err != unix.EAGAIN
	})
	switch {
	case rerr != nil:
		return 0, rerr
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n == 0 && len(p) > 0:
		err = io.EOF
	}
	return n, err
}

func (c *conn) keep(fds []int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		dir.CloseReceived(fds...)
		return net.ErrClosed
	}
	c.fds = fds
	return nil
}

// Passed returns the descriptors that came with the first bytes. The caller closes them.
func (c *conn) Passed() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	fds := c.fds
	c.fds = nil
	return fds
}

// Close closes the connection, and the descriptors that Passed has not returned. Descriptors that are still in the
// socket's queue are closed first: a Read in progress may be what closes the socket itself, and would wait for them.
func (c *conn) Close() error {
	dir.CloseReceived(c.Passed()...)
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	err := c.raw.Control(func(fd uintptr) {
		unix.Shutdown(int(fd), unix.SHUT_RDWR) // nothing more arrives
		dir.InterruptibleClose(func() { drain(int(fd)) })
	})
	return errors.Join(err, c.UnixConn.Close())
}

// drain reads the rest of the data of a socket.
func drain(fd int) {
	var b [4096]byte
	for {
		n, _, _, _, err := unix.Recvmsg(fd, b[:], nil, 0)
		if n <= 0 && err != unix.EINTR {
			return
		}
	}
}

// rights returns the descriptors of all SCM_RIGHTS messages in oob, and an error if there were more than fit.
func rights(oob []byte, flags int) (fds []int, err error) {
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for i := range msgs {
		got, err := syscall.ParseUnixRights(&msgs[i])
		if err != nil {
			return fds, err
		}
		fds = append(fds, got...)
	}
	if flags&unix.MSG_CTRUNC != 0 {
		return fds, errors.New("more descriptors than a call may bring")
	}
	return fds, nil
}
