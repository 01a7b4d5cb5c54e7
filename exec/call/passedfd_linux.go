// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

var errKind = errors.New("not a kind that may be passed")

// checkFD refuses a received descriptor that a shim would not pass. It must be an anonymous pipe, a stream
// socket or a terminal, open in the right direction. A container can pass any other descriptor, such as a file
// of /proc whose write permission depends on the writer.
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
	switch got := dir.FDKindOf(fd); {
	case kind == wire.FDPipe && got == dir.PipeFD, kind == wire.FDTTY && got == dir.TerminalFD:
		return nil
	case kind == wire.FDSocket && got == dir.SocketFD:
		return checkStream(fd)
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

func closeAll(fds []int) { dir.CloseReceived(fds...) }
