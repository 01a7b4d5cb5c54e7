// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// inotifywait is as much of inotify-tools as scripts want that wait for an answer: it ends
// with the first event in a directory, with 2 when there is none in time.
func inotifywait(args []string) error {
	seconds, dir := 0, ""
	for i, arg := range args {
		switch {
		case i > 0 && (args[i-1] == "-t" || args[i-1] == "--timeout"):
			n, err := strconv.Atoi(arg)
			if err != nil {
				return err
			}
			seconds = n
		case i > 0 && args[i-1] == "-e", strings.HasPrefix(arg, "-"):
		default:
			dir = arg
		}
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return err
	}
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_MODIFY); err != nil {
		return err
	}
	wait := -1
	if seconds > 0 {
		wait = seconds * 1000
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, wait)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == 0:
			os.Exit(2)
		default:
			return nil
		}
	}
}
