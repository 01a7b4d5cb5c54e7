// SPDX-License-Identifier: Apache-2.0

//go:build unix

package devcontainer

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// errLeased means that the watcher is about to end: it holds an exclusive lock on the lease.
var errLeased = errors.New("the session is about to end")

// lease opens and locks the lease, a file of a session. The session's watcher does not end while the file, or a copy
// that a child inherited, is open.
func lease(dir string) (*os.File, error) {
	name := state.LeaseFile(dir)
	_, err := os.Stat(name)
	fresh := err != nil
	f, err := os.OpenFile(name, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errLeased
		}
		return nil, os.NewSyscallError("flock", err)
	}
	if fresh { // no container is expected yet
		err = os.Chtimes(name, time.Time{}, time.Unix(0, 0))
	}
	if err != nil {
		f.Close()
	}
	return f, err
}
