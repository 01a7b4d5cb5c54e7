// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// change is a system call that changes the metadata of one file, or watches the file.
type change struct {
	dir      int    // a descriptor of the thread's, or unix.AT_FDCWD
	path     string // relative to dir; with self: ignored
	self     bool   // the file is dir itself
	noFollow bool   // a symbolic link is not followed
	reads    bool   // the program needs only to be able to read the file
	apply    func(file int) (result int64, err error)
}

// callingThread is a thread that made a system call. It waits while the call is performed.
type callingThread struct {
	tid int
	mem int // /proc/TID/mem, or 0
}

func (c *callingThread) close() {
	if c.mem != 0 {
		unix.Close(c.mem)
	}
}

// read reads the thread's memory, possibly less than len(b).
func (c *callingThread) read(at uint64, b []byte) (n int, err error) {
	if c.mem == 0 {
		if c.mem, err = unix.Open(fmt.Sprintf("/proc/%d/mem", c.tid), unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err != nil {
			c.mem = 0
			return 0, unix.EPERM
		}
	}
	if n, err = unix.Pread(c.mem, b, int64(at)); err != nil {
		return 0, unix.EFAULT
	}
	return n, nil
}

// path reads a path, of at most PATH_MAX bytes. It reads up to the ends of pages, because the next
// page may not exist.
func (c *callingThread) path(at uint64) (string, error) {
	var path []byte
	page := uint64(unix.Getpagesize())
	for len(path) < unix.PathMax {
		b := make([]byte, min(page-at%page, uint64(unix.PathMax-len(path))))
		n, err := c.read(at, b)
		if err != nil || n == 0 {
			return "", unix.EFAULT
		}
		if end := bytes.IndexByte(b[:n], 0); end >= 0 {
			return string(append(path, b[:end]...)), nil
		}
		path, at = append(path, b[:n]...), at+uint64(n)
	}
	return "", unix.ENAMETOOLONG
}

// open opens the file of a change, so that its path is resolved only once. It follows no link in /proc to a file of
// another process.
func (c *callingThread) open(ch change) (fd int, err error) {
	if ch.self {
		return c.openDescriptor(ch.dir)
	}
	if ch.path == "" {
		return -1, unix.ENOENT
	}
	dir := unix.AT_FDCWD
	if ch.path[0] != '/' {
		if dir, err = c.openDescriptor(ch.dir); err != nil {
			return -1, err
		}
		defer unix.Close(dir)
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if ch.noFollow {
		how.Flags |= unix.O_NOFOLLOW
	}
	return unix.Openat2(dir, ch.path, &how)
}

// openDescriptor opens what a descriptor of the thread refers to.
func (c *callingThread) openDescriptor(fd int) (int, error) {
	name := "cwd"
	if fd != unix.AT_FDCWD {
		name = "fd/" + strconv.Itoa(fd)
	}
	file, err := unix.Open(fmt.Sprintf("/proc/%d/%s", c.tid, name), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return -1, unix.EBADF
	}
	return file, err
}

// at returns the change to the file that dir, path and flags name, as in the system calls with AT_ flags.
func (c *callingThread) at(dir, path, flags uint64, do func(file int) (int64, error)) (ch change, err error) {
	ch = change{dir: int(int32(dir)), noFollow: flags&unix.AT_SYMLINK_NOFOLLOW != 0, apply: do}
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return ch, unix.EINVAL
	}
	if ch.path, err = c.path(path); err != nil {
		return ch, err
	}
	ch.self = ch.path == "" && flags&unix.AT_EMPTY_PATH != 0
	if fd, ok := ownDescriptor(ch.path); ok && !ch.noFollow {
		ch.dir, ch.self = fd, true
	}
	return ch, nil
}

// ownDescriptor returns N for /proc/self/fd/N: before fchmodat2(2), C libraries changed modes by this path.
func ownDescriptor(path string) (fd int, ok bool) {
	digits, ok := strings.CutPrefix(path, "/proc/self/fd/")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), err == nil
}

func chmod(mode uint64) func(int) (int64, error) {
	return func(file int) (int64, error) {
		return emptyPath(unix.SYS_FCHMODAT2, file, uintptr(uint32(mode)), unix.AT_EMPTY_PATH, 0)
	}
}

func chown(uid, gid uint64) func(int) (int64, error) {
	return func(file int) (int64, error) {
		return emptyPath(unix.SYS_FCHOWNAT, file, uintptr(uint32(uid)), uintptr(uint32(gid)), unix.AT_EMPTY_PATH)
	}
}

func setTimes(times *[2]unix.Timespec) func(int) (int64, error) {
	return func(file int) (int64, error) {
		var empty [1]byte
		return result(unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(file), uintptr(unsafe.Pointer(&empty)), uintptr(unsafe.Pointer(times)), unix.AT_EMPTY_PATH, 0, 0))
	}
}

// emptyPath makes a call for the file behind a descriptor: its path is empty, and its flags have AT_EMPTY_PATH.
func emptyPath(call uintptr, file int, a, b, c uintptr) (int64, error) {
	var empty [1]byte
	return result(unix.Syscall6(call, uintptr(file), uintptr(unsafe.Pointer(&empty)), a, b, c, 0))
}

// result returns the result of a system call.
func result(r, _ uintptr, errno syscall.Errno) (int64, error) {
	if errno != 0 {
		return 0, errno
	}
	return int64(r), nil
}

// numbers reads len(list) 64-bit numbers at the address at in the thread's memory.
func (c *callingThread) numbers(at uint64, list []int64) error {
	b := unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), 8*len(list))
	if n, err := c.read(at, b); err != nil || n != len(b) {
		return unix.EFAULT
	}
	return nil
}

// timespecs reads the times of utimensat; nil means now.
func (c *callingThread) timespecs(at uint64) (*[2]unix.Timespec, error) {
	var n [4]int64
	if at == 0 {
		return nil, nil
	}
	err := c.numbers(at, n[:])
	return &[2]unix.Timespec{{Sec: n[0], Nsec: n[1]}, {Sec: n[2], Nsec: n[3]}}, err
}

// timevals reads the times of utimes, which have microseconds.
func (c *callingThread) timevals(at uint64) (*[2]unix.Timespec, error) {
	t, err := c.timespecs(at)
	if t == nil || err != nil {
		return t, err
	}
	for i := range t {
		if t[i].Nsec < 0 || t[i].Nsec > 999_999 {
			return nil, unix.EINVAL
		}
		t[i].Nsec *= 1000
	}
	return t, nil
}

// seconds reads the times of utime.
func (c *callingThread) seconds(at uint64) (*[2]unix.Timespec, error) {
	var n [2]int64
	if at == 0 {
		return nil, nil
	}
	err := c.numbers(at, n[:])
	return &[2]unix.Timespec{{Sec: n[0]}, {Sec: n[1]}}, err
}
