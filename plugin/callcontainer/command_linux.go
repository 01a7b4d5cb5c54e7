// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

var errReplaced = errors.New("the container's working directory was replaced meanwhile")

// startCommand checks the working directory and the mounts of the first process, and lets it start c.
func (proc *containerProcess) startCommand(p Spec, c executor.Command, files [3]int, size *executor.Winsize) error {
	kind, _, fds, err := readFrame(proc.conn)
	if err != nil {
		return fmt.Errorf("read from the container's first process: %w", err)
	}
	err = p.checkView(kind, c.Dir, fds)
	dir.CloseReceived(fds...)
	if err != nil {
		return err
	}
	if proc.pid, err = peer(proc.conn); err != nil {
		return err
	}
	if err := proc.send(c, files, size); err != nil {
		return err
	}
	kind, payload, fds, err := readFrame(proc.conn)
	if err == nil && kind == wire.KindExit {
		dir.CloseReceived(fds...)
		return notStarted(p, c, payload)
	}
	if err == nil && (kind != wire.KindStarted || (len(fds) == 1) != (size != nil)) {
		err = wire.ErrKind
	}
	if err == nil && size != nil {
		err = proc.terminal(fds[0])
	}
	if err != nil {
		dir.CloseReceived(fds...)
	}
	return err
}

// checkView checks the working directory and the mounts of the container. fds are the working directory of its
// first process and its root directory.
func (p Spec) checkView(kind wire.Kind, cwd int, fds []int) error {
	switch {
	case kind != wire.KindNotice || len(fds) != 2:
		return wire.ErrKind
	case !dir.Same(fds[0], cwd):
		return errReplaced
	case p.CheckMounts == nil:
		return nil
	}
	return p.CheckMounts(fds[1])
}

// send sends the command and its descriptors.
func (proc *containerProcess) send(c executor.Command, files [3]int, size *executor.Winsize) error {
	m := wire.Exec{Args: append([]string{cmp.Or(c.Path, c.Args[0])}, c.Args...)}
	if size != nil {
		m.Winsize = wire.Winsize(*size)
	}
	if mask := umask(); mask != "" {
		m.Env = []string{mask} // the engine sets the rest of its environment
	}
	var passed []int
	for i, fd := range files {
		if fd != executor.Terminal {
			m.Passed |= 1 << i
			passed = append(passed, fd)
		}
	}
	payload := m.Append(nil)
	if len(payload) > wire.MaxExec {
		return unix.E2BIG
	}
	if _, _, err := proc.conn.WriteMsgUnix(wire.AppendHeader(nil, wire.KindExec, len(payload)), unix.UnixRights(passed...), nil); err != nil {
		return err
	}
	_, err := proc.conn.Write(payload)
	return err
}

// umask returns this process's umask in octal, or "" if it is unknown. It reads /proc because umask(2)
// would change the umask of all threads for a moment.
func umask() string {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), "\nUmask:\t")
	mask, _, _ := strings.Cut(rest, "\n")
	return mask
}

// notStarted returns the error that the first process has sent. It wraps fs.ErrNotExist or
// fs.ErrPermission if that is the reason.
func notStarted(p Spec, c executor.Command, payload []byte) error {
	m, err := wire.ParseExit(payload)
	if err != nil {
		return err
	}
	what := "start " + strconv.QuoteToASCII(cmp.Or(c.Path, c.Args[0])) + " of " + p.Image
	if m.Text != "" {
		what += ": " + m.Text
	}
	return fmt.Errorf("%s: %w", what, syscall.Errno(m.Code))
}

// terminal stores the master of the command's terminal, after a check that fd is one. The container
// allocates the terminal, so that the terminal has a name there.
func (proc *containerProcess) terminal(fd int) error {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev_major != 5 || st.Rdev_minor != 2 {
		return errors.Join(errors.New("the container's terminal is not a terminal"), err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	proc.tty = os.NewFile(uintptr(fd), "ptmx")
	return nil
}

// readFrame reads one frame and at most two descriptors that come with it.
func readFrame(conn *net.UnixConn) (kind wire.Kind, payload []byte, fds []int, err error) {
	var head [wire.HeaderLen]byte
	oob := make([]byte, unix.CmsgSpace(2*4))
	n, oobn, _, _, err := conn.ReadMsgUnix(head[:1], oob)
	if err == nil && n == 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, nil, nil, err
	}
	msgs, err := syscall.ParseSocketControlMessage(oob[:oobn])
	for i := range msgs {
		if got, err := syscall.ParseUnixRights(&msgs[i]); err == nil {
			fds = append(fds, got...)
		}
	}
	size := 0
	if err == nil {
		_, err = io.ReadFull(conn, head[1:])
	}
	if err == nil {
		kind, size, err = wire.ParseHeader(head[:])
	}
	if err == nil && size > wire.MaxFrame {
		err = wire.ErrTooLong
	}
	if err == nil {
		payload = make([]byte, size)
		_, err = io.ReadFull(conn, payload)
	}
	if err != nil {
		dir.CloseReceived(fds...)
		return 0, nil, nil, err
	}
	return kind, payload, fds, nil
}

// peer returns the host pid of the connected process.
func peer(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid, errors.Join(cerr, err)
}
