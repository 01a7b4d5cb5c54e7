// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MetadataServer changes the modes, owners and times of files, and watches files, for confined programs. Landlock does
// not prevent a program from doing this with any file of its user. MetadataServer opens the file once, and uses the
// open file. It checks that the program may write the file, or may read it if it watches the file.
type MetadataServer struct {
	calls    *os.File // the kernel's reports (seccomp_unotify(2))
	roots    []int    // the files and directories that may be written, opened with O_PATH
	readable []string // paths that may only be read; the container can replace none of them
}

func newMetadataServer(fd int, roots []int, readable []string) (*MetadataServer, error) {
	if err := unix.SetNonblock(fd, true); err != nil { // so that os.NewFile polls it
		unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	m := &MetadataServer{calls: os.NewFile(uintptr(fd), "seccomp listener"), readable: readable}
	for _, r := range roots {
		root, err := unix.FcntlInt(uintptr(r), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			m.Close()
			m.closeRoots()
			return nil, os.NewSyscallError("fcntl", err)
		}
		m.roots = append(m.roots, root)
	}
	return m, nil
}

// Close ends Serve. System calls that still arrive then fail with ENOSYS. One that is being answered is answered first.
func (m *MetadataServer) Close() error { return m.calls.Close() }

// Ended reports whether no confined process is left, and Serve has ended or will end.
func (m *MetadataServer) Ended() bool {
	conn, err := m.calls.SyscallConn()
	if err != nil {
		return true
	}
	ended := true
	conn.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		_, err := unix.Poll(poll, 0)
		ended = err == nil && poll[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
	})
	return ended
}

// closeRoots closes the roots. While a call is answered, their numbers must not be reused.
func (m *MetadataServer) closeRoots() {
	for _, fd := range m.roots {
		unix.Close(fd)
	}
	m.roots = nil
}

// Serve answers system calls until the last confined process has ended, or until Close. Call it once.
func (m *MetadataServer) Serve() error {
	defer m.closeRoots()
	conn, err := m.calls.SyscallConn()
	if err != nil {
		return err
	}
	for {
		var n notification
		var recvErr error
		err := conn.Read(func(fd uintptr) bool {
			n, recvErr = receive(int(fd))
			return recvErr != unix.EAGAIN
		})
		switch {
		case err != nil:
			return err
		case recvErr == errAllEnded:
			return nil
		case recvErr == unix.ENOENT || recvErr == unix.EINTR: // the thread was killed meanwhile
			continue
		case recvErr != nil:
			return recvErr
		}
		m.answer(&n)
	}
}

// notification is struct seccomp_notif, and response is struct seccomp_notif_resp.
type notification struct {
	id    uint64
	tid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

type response struct {
	id    uint64
	val   int64
	error int32
	flags uint32
}

var errAllEnded = errors.New("no process is left")

// receive returns the next call, or EAGAIN if there is none yet.
func receive(fd int) (n notification, err error) {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if _, err := unix.Poll(poll, 0); err != nil {
		return n, err
	}
	switch {
	case poll[0].Revents&unix.POLLIN != 0:
		return n, ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n))
	case poll[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0:
		return n, errAllEnded
	}
	return n, unix.EAGAIN
}

func ioctl(fd int, command uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), command, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// answer makes one system call and reports its result. An error of ioctl means that the thread is gone.
func (m *MetadataServer) answer(n *notification) {
	r := response{id: n.id}
	val, err := m.perform(n)
	if r.val = val; err != nil {
		errno := unix.EPERM
		errors.As(err, &errno)
		r.val, r.error = 0, -int32(errno)
	}
	m.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}

func (m *MetadataServer) control(command uintptr, arg unsafe.Pointer) error {
	conn, err := m.calls.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	err = conn.Control(func(fd uintptr) { callErr = ioctl(int(fd), command, arg) })
	return errors.Join(err, callErr)
}

// perform makes the system call of n for its thread.
func (m *MetadataServer) perform(n *notification) (int64, error) {
	call, ok := parsers[uint32(n.nr)]
	if !ok {
		return 0, unix.ENOSYS
	}
	t := &callingThread{tid: int(n.tid)}
	defer t.close()
	c, err := call(t, n.args)
	if err != nil {
		return 0, err
	}
	// Until here the thread id may have become that of another process.
	if m.control(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)) != nil {
		return 0, unix.ESRCH
	}
	file, err := t.open(c)
	if err != nil {
		return 0, err
	}
	defer unix.Close(file)
	if !m.permits(file, c.reads) {
		return 0, unix.EPERM
	}
	return c.apply(file)
}

// permits reports whether file is a file or directory that the program may write, or is below one. The program cannot
// move a file from elsewhere into such a directory: that requires write access to the file's own directory. With reads,
// a directory that may be read is sufficient.
func (m *MetadataServer) permits(file int, reads bool) bool {
	path, err := pathOf(file)
	if err != nil {
		return false
	}
	if reads && slices.ContainsFunc(m.readable, func(at string) bool { return within(path, at) }) {
		return true
	}
	for _, fd := range m.roots {
		root, err := pathOf(fd)
		if err != nil || strings.HasSuffix(root, deletedSuffix) {
			continue
		}
		if within(path, root) {
			return true
		}
	}
	return false
}

// within reports whether path is the directory root, or is below it.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}

// deletedSuffix follows the path of a file without a name (proc_pid_fd(5)).
const deletedSuffix = " (deleted)"

func pathOf(fd int) (string, error) { return os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)) }
