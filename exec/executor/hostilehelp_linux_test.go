// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watch watches a file or directory.
func watch(path string, flags uint32) error {
	fd, err := unix.InotifyInit()
	if err != nil {
		return nil
	}
	_, err = unix.InotifyAddWatch(fd, path, unix.IN_ALL_EVENTS|flags)
	return err
}

func secret() string { return filepath.Join(os.Getenv("SECRETS"), "canary") }

func procOf(name string) string { return "/proc/" + os.Getenv("WATCHER") + "/" + name }

func watcher() int {
	pid, _ := strconv.Atoi(os.Getenv("WATCHER"))
	return pid
}

func pidfd() int {
	fd, _ := unix.PidfdOpen(watcher(), 0)
	return fd
}

func open(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err == nil {
		f.Close()
	}
	return err
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, time.Second)
	if err == nil {
		c.Close()
	}
	return err
}

func socket(family, kind, protocol int) error {
	_, err := unix.Socket(family, kind, protocol)
	return err
}

// code returns the errno of a system call as an error, or nil for 0.
func code(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// is returns an error if errno is refusal. Any other errno means that the filter has let the call pass to the kernel.
func is(errno, refusal syscall.Errno) error {
	if errno == refusal {
		return errno
	}
	return nil
}

// refusedByFilter reports an error only if the filter has refused a command of ioctl. /dev/null has none of those.
func refusedByFilter(command uintptr) error {
	var b [1]byte
	fd, err := unix.Open(os.DevNull, unix.O_RDWR, 0)
	if err != nil {
		return nil
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), command, uintptr(unsafe.Pointer(&b)))
	return is(errno, unix.EPERM)
}

func run(script string) error {
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", script}, &syscall.ProcAttr{})
	if err != nil {
		return err
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil || ws.ExitStatus() == 0 {
		return nil
	}
	return fmt.Errorf("exit %d", ws.ExitStatus())
}
