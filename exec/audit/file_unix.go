// SPDX-License-Identifier: Apache-2.0

//go:build unix

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_NOCTTY // opening a FIFO or device does not block
	nonBlock = syscall.O_NONBLOCK | syscall.O_NOCTTY
)

// lockTimeout is the maximum wait for a lock. A process holds the lock for microseconds, unless the
// process is stopped.
const lockTimeout = 5 * time.Second

var errLocked = errors.New("another process keeps it locked")

func lock(f *os.File) error       { return flock(f, unix.LOCK_EX) }
func lockShared(f *os.File) error { return flock(f, unix.LOCK_SH) }
func unlock(f *os.File) error     { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// flock polls for the lock. A blocking flock(2) has no timeout, and a refused call is better than a
// call that hangs.
func flock(f *os.File, how int) error {
	pause := 20 * time.Microsecond
	for begin := time.Now(); ; pause = min(2*pause, 5*time.Millisecond) {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case err == unix.EINTR:
			continue
		case err != unix.EWOULDBLOCK:
			return fmt.Errorf("lock: %w", err)
		case time.Since(begin) > lockTimeout:
			return errLocked
		}
		time.Sleep(pause)
	}
}

// owned refuses a file of another user, because the owner can write it with any mode.
func owned(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Geteuid() {
		return errors.New("it belongs to another user")
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
