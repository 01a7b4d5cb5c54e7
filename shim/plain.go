// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package shim

import (
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// errPlanted is something in the place of a file.
const errPlanted = wire.Error("it is not a regular file")

// plain opens a regular file, whatever somebody may have put in its place.
func plain(name string, how int) (int, error) {
	fd, err := syscall.Open(name, how|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	var st syscall.Stat_t
	if syscall.Fstat(fd, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		syscall.Close(fd)
		return -1, errPlanted
	}
	return fd, nil
}

// read returns the beginning of a small file, which was written at once.
func read(name string, max int) (string, error) {
	fd, err := plain(name, syscall.O_RDONLY)
	if err != nil {
		return "", err
	}
	b := make([]byte, max)
	n, err := syscall.Read(fd, b)
	syscall.Close(fd)
	if err != nil {
		return "", err
	}
	return string(b[:n]), nil
}
