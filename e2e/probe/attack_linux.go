// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dial connects to the host, by whichever carrier there is.
func dial() (int, error) {
	s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if unix.Connect(s, &unix.SockaddrUnix{Name: "/run/hostexec/socket"}) == nil {
		return s, nil
	}
	return s, unix.Connect(s, &unix.SockaddrUnix{Name: "/run/hostexec/relay/socket"})
}

// send is a shim that lies: `send KINDS [half]` sends the bytes that stdin has in hexadecimal. KINDS are the kinds of
// the descriptors that it sends with them, separated by commas, or "-" for none. Then half closes the sending side.
// send prints all that comes back, in hexadecimal.
func send(args []string) error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	data, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	fds, err := openKinds(args[0])
	if err != nil {
		return err
	}
	s, err := dial()
	if err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	if err := sendAll(s, data, rights); err != nil {
		return err
	}
	if len(args) > 1 {
		unix.Shutdown(s, unix.SHUT_WR)
	}
	reply, err := io.ReadAll(os.NewFile(uintptr(s), "socket"))
	if err != nil && !errors.Is(err, unix.ECONNRESET) {
		return err
	}
	_, err = fmt.Println(hex.EncodeToString(reply))
	return err
}

// sendAll sends data, the descriptors with its first byte. The other side may hang up at
// any time, and is right to: then what it said before is what counts.
func sendAll(s int, data, rights []byte) error {
	for len(data) > 0 {
		n, err := unix.SendmsgN(s, data, rights, nil, unix.MSG_NOSIGNAL)
		if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
			return nil
		}
		if err != nil {
			return err
		}
		data, rights = data[n:], nil
	}
	return nil
}

// openKinds opens a descriptor of each kind.
func openKinds(list string) (fds []int, err error) {
	if list == "-" {
		return nil, nil
	}
	for _, kind := range strings.Split(list, ",") {
		fd, err := openKind(kind)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

func openKind(kind string) (int, error) {
	var p [2]int
	switch kind {
	case "r", "w":
		err := unix.Pipe(p[:])
		return p[map[string]int{"r": 0, "w": 1}[kind]], err
	case "stream":
		p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return p[0], err
	case "unconnected": // the command could connect it to any socket of the host
		return unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	case "dgram":
		p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		return p[0], err
	case "epoll":
		return unix.EpollCreate1(0)
	case "eventfd":
		return unix.Eventfd(0, 0)
	case "memfd":
		return unix.MemfdCreate("x", 0)
	case "pidfd":
		return unix.PidfdOpen(os.Getpid(), 0)
	case "inotify":
		return unix.InotifyInit1(0)
	case "opath":
		return unix.Open("/", unix.O_PATH, 0)
	case "ptmx":
		return unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	case "fifo":
		name := fmt.Sprintf("/tmp/fifo.%d", os.Getpid())
		if err := unix.Mkfifo(name, 0o600); err != nil {
			return -1, err
		}
		defer unix.Unlink(name)
		return unix.Open(name, unix.O_RDWR, 0)
	}
	if strings.HasPrefix(kind, "/") {
		return unix.Open(kind, unix.O_RDWR, 0)
	}
	return unix.Open(strings.TrimPrefix(kind, "ro:"), unix.O_RDONLY, 0)
}

// silent connects n times and says nothing; it prints "connected" and waits for stdin's
// end. The kernel makes a connection before anybody accepts it, up to the backlog.
func silent(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	lim := unix.Rlimit{Cur: uint64(n) + 64, Max: uint64(n) + 64}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return err
	}
	for i := range n {
		if _, err := dial(); err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
	}
	fmt.Println("connected")
	return drain()
}

// talk sends what stdin has to the unix socket args[0], and prints what comes back.
func talk(args []string) error {
	conn, err := net.Dial("unix", args[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.Copy(conn, os.Stdin); err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, conn)
	return err
}
