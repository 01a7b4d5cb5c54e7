// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package shim

import (
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// leave removes from a container what was put into dir when it was attached, with the
// commands of those names, and their links in linkDir that lead there. What else is there
// stays, and so do directories that are not empty. It returns 0 when all that was put there
// has gone.
func leave(dir, linkDir string, names []string) int {
	for _, name := range append(names, "hostexec") {
		var b [512]byte
		link := linkDir + "/" + name
		n, err := syscall.Readlink(link, b[:])
		if err == nil && string(b[:n]) == dir+"/bin/"+name {
			syscall.Unlink(link)
		}
		syscall.Unlink(dir + "/bin/" + name)
	}
	syscall.Unlink(dir + "/carrier")
	syscall.Unlink(dir + "/relay/socket")
	for _, d := range [...]string{"/relay", "/bin", ""} {
		err := syscall.Rmdir(dir + d)
		if d == "" && err != nil && err != syscall.ENOTEMPTY && err != syscall.EEXIST && err != syscall.ENOENT {
			writeAll(2, []byte("hostexec: remove "+dir+": "+err.Error()+"\n"))
			return wire.CodeFailed
		}
	}
	return 0
}
