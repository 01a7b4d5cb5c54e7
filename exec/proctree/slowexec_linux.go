// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// slowAfter is the time in which a file system has to show that a program can be executed at once.
const slowAfter = 200 * time.Millisecond

// lookups limits the number of concurrent lookups of programs. Each holds a thread until the file system answers, and
// the Go runtime ends a process that has too many threads.
var lookups = make(chan struct{}, 32)

// execsAtOnce reports whether the kernel can execute the program without waiting for another process. That could be the
// holder of a lease (fcntl(2)), or the server of a network or FUSE file system. Until an exec has succeeded, the Go
// runtime starts no other process and collects no garbage.
func (s *StartConfig) execsAtOnce() bool {
	select {
	case lookups <- struct{}{}:
	default:
		return false
	}
	answer := make(chan bool, 1)
	// ends when the file system has answered. If it does not answer, the command waits for it as well.
	go func() {
		ok := (s.Dir == 0 || isLocal(s.Dir)) && programExecsAtOnce(s.Path)
		<-lookups // before the answer, so that the next lookup of the caller is not refused
		answer <- ok
	}()
	late := time.NewTimer(slowAfter)
	defer late.Stop()
	select {
	case ok := <-answer:
		return ok
	case <-late.C:
		return false
	}
}

func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// programExecsAtOnce checks a program, and the interpreters that the kernel opens for it.
func programExecsAtOnce(name string) bool {
	for range 6 { // the kernel follows no more
		next, err := inspect(name)
		if err != nil || next == "" {
			return err == nil
		}
		if !path.IsAbs(next) {
			return false
		}
		name = next
	}
	return true
}

// errSlow is the error of a program that may wait, or about which nothing is known.
var errSlow = errors.New("its exec may block")

// inspect returns the interpreter of a program, if it has one. It opens no file of a file server: a child that
// is forked at the same time would have to close it, which may block.
func inspect(name string) (interpreter string, err error) {
	held, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return "", nil // the exec fails
	}
	if err != nil {
		return "", err
	}
	defer unix.Close(held)
	if !isLocal(held) {
		return "", errSlow
	}
	fd, err := unix.Open(procFD(held), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err == unix.EACCES {
		return "", nil // no script can be executed that cannot be read
	}
	if err != nil { // EAGAIN: there is a lease
		return "", err
	}
	defer unix.Close(fd)
	return interpreterOf(func(b []byte, at int64) []byte {
		n, _ := unix.Pread(fd, b, at)
		return b[:max(n, 0)]
	}), nil
}

// localSystems are file systems of the kernel's own, on a disk or in memory (linux/magic.h).
var localSystems = []uint32{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
	unix.SQUASHFS_MAGIC, unix.EROFS_SUPER_MAGIC_V1, unix.F2FS_SUPER_MAGIC, 0x2fc12fc1 /* ZFS */, 0xca451a4e, /* bcachefs */
}

func isLocal(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && slices.Contains(localSystems, uint32(st.Type))
}
