// SPDX-License-Identifier: Apache-2.0

//go:build darwin || portable

package carrier

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Listen makes the socket in share, which nobody reaches but whose share's parent is. No
// descriptor comes by it: what is passed all the same is dropped unread. Close removes it.
func Listen(share string) (net.Listener, error) {
	ln, err := Bind(share, Socket, 0o600)
	if err != nil {
		return nil, fmt.Errorf("listen for calls: %w", err)
	}
	return &socket{ln, filepath.Join(share, Socket)}, nil
}

// Bind listens on the unix socket name in dir, whose path must be short enough for one. A
// socket left by a watcher that died is replaced; the caller holds the lock that says so.
func Bind(dir, name string, mode fs.FileMode) (*net.UnixListener, error) {
	path := filepath.Join(dir, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// umask decides the mode at birth; a chmod would come later than the first connect.
	// Nothing else makes files yet when the sockets of a watcher are bound.
	old := unix.Umask(int(^mode & 0o777))
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	unix.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("bind %s: %w", path, errors.Unwrap(err))
	}
	ln.SetUnlinkOnClose(false) // whoever closes it says when
	return ln, nil
}

type socket struct {
	*net.UnixListener
	path string
}

func (s *socket) Close() error { return errors.Join(s.UnixListener.Close(), os.Remove(s.path)) }
