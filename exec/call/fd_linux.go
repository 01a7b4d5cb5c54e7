// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package call

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

var errKind = errors.New("not a kind that may be passed")

// checkFD refuses a received descriptor that is not what the shim passes: an anonymous
// pipe, a stream socket or a terminal, open in the right direction. The kernel lets a
// container pass anything: a file of /proc whose write is checked against the writer, a
// file on a file system that it serves itself and that blocks whoever looks at it. So
// the looking is done from the outside in: first the link's text, which asks no driver.
func checkFD(fd, as int, kind wire.FD) error {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	if flags&unix.O_PATH != 0 {
		return errKind
	}
	mode := flags & unix.O_ACCMODE
	if as == 0 && mode == unix.O_WRONLY || as != 0 && mode == unix.O_RDONLY {
		return errors.New("open in the wrong direction")
	}
	var buf [64]byte
	n, err := unix.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd), buf[:])
	if err != nil {
		return err
	}
	link := string(buf[:n])
	switch kind {
	case wire.FDPipe:
		if strings.HasPrefix(link, "pipe:[") {
			return nil
		}
	case wire.FDSocket:
		if strings.HasPrefix(link, "socket:[") {
			return checkStream(fd)
		}
	case wire.FDTTY:
		if strings.HasPrefix(link, "/") {
			return checkTTY(fd)
		}
	}
	return errKind
}

func checkStream(fd int) error {
	typ, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return err
	}
	if typ != unix.SOCK_STREAM {
		return errKind
	}
	return nil
}

// checkTTY admits the terminal side of a Unix98 pseudo-terminal, majors 136 to 143
// (Documentation/admin-guide/devices.txt): not its master, not a console of the host's.
func checkTTY(fd int) error {
	var st unix.Statx_t
	// DONT_SYNC: whatever file system this is, it is not asked.
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st)
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev_major < 136 || st.Rdev_major > 143 {
		return errKind
	}
	return nil
}

func closeAll(fds []int) { dir.Close(fds...) }
