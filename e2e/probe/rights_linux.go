// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Callers that pass descriptors as no shim does.

// inflight keeps at least args[0] descriptors in flight, sent and not received; it prints
// "full" and waits for the end of stdin. The kernel counts them for the user id (unix(7)).
func inflight(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	for sent := 0; sent < n; sent += 200 {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		fds := make([]int, 200)
		for i := range fds {
			fds[i] = 1
		}
		if err := unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(fds...), nil, 0); err != nil {
			return fmt.Errorf("with %d in flight: %w", sent, err)
		}
	}
	fmt.Println("full")
	return drain()
}

// ptscall makes terminals until one has the number args[0], and sends the request that stdin
// has in hexadecimal with that terminal as stdout. It prints what comes to its master until
// the host has answered, and hangs up.
func ptscall(args []string) error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	data, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	master, slave, err := numbered(args[0])
	if err != nil {
		return err
	}
	s, err := dial()
	if err != nil {
		return err
	}
	if err := sendAll(s, data, unix.UnixRights(slave)); err != nil {
		return err
	}
	unix.Close(slave)
	if _, err := io.Copy(io.Discard, os.NewFile(uintptr(s), "socket")); err != nil && !errors.Is(err, unix.ECONNRESET) {
		return err
	}
	_, err = io.Copy(os.Stdout, master)
	if errors.Is(err, unix.EIO) { // nobody has the terminal any more
		err = nil
	}
	return err
}

// numbered makes terminals until one has the number n, and returns that one's two sides.
func numbered(n string) (*os.File, int, error) {
	for range 1000 {
		master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return nil, -1, err
		}
		have, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
		if err == nil && strconv.Itoa(have) == n {
			err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
			if err != nil {
				return nil, -1, err
			}
			slave, err := unix.Open("/dev/pts/"+n, unix.O_RDWR|unix.O_NOCTTY, 0)
			return master, slave, err
		}
		if err != nil {
			return nil, -1, err
		}
		kept = append(kept, master) // or its number would come again
	}
	return nil, -1, fmt.Errorf("no terminal has the number %s", n)
}

var kept []*os.File

// splice puts pages of its own into stdout, a pipe, and closes that: they hold args[0] and a
// newline, and what it writes to them later is what a reader gets then. At the end of stdin it
// writes args[1] to them, and says "changed" on stderr.
func splice(args []string) error {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_SHARED)
	if err != nil {
		return err
	}
	n := copy(page, args[0]+"\n")
	vec := unix.Iovec{Base: &page[0]}
	vec.SetLen(n)
	if _, err := unix.Vmsplice(1, []unix.Iovec{vec}, 0); err != nil {
		return err
	}
	unix.Close(1)
	if err := drain(); err != nil {
		return err
	}
	copy(page, args[1])
	fmt.Fprintln(os.Stderr, "changed")
	return nil
}
