// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// leave removes from a container what was put into dir when it was attached, with the
// commands of those names, and their links in linkDir that lead there. What else is there
// stays, and so do directories that are not empty; no link in the place of one is followed. A
// shim that was put elsewhere for this, as self, goes itself. It returns 0 when all that was
// put there has gone.
func leave(self, dir, linkDir string, names []string) int {
	const own = "/hostexec-leave-"
	if len(self) > len(own) && self[:len(own)] == own {
		leave("", self[:len(self)-len("/bin/hostexec")], linkDir, nil)
	}
	var b [512]byte
	inside := true
	for _, d := range subdirs {
		n, _ := syscall.Readlink(dir+d, b[:])
		inside = inside && n < 0
	}
	for _, name := range append(names, "hostexec") {
		link := linkDir + "/" + name
		n, err := syscall.Readlink(link, b[:])
		if err == nil && string(b[:n]) == dir+"/bin/"+name {
			syscall.Unlink(link)
		}
		if inside {
			syscall.Unlink(dir + "/bin/" + name)
		}
	}
	if !inside {
		return 0
	}
	syscall.Unlink(dir + "/carrier")
	syscall.Unlink(dir + "/relay/socket")
	for _, d := range subdirs {
		err := syscall.Rmdir(dir + d)
		if d == "" && err != nil && err != syscall.ENOTEMPTY && err != syscall.EEXIST && err != syscall.ENOENT {
			writeAll(2, []byte("hostexec: remove "+dir+": "+err.Error()+"\n"))
			return wire.CodeFailed
		}
	}
	return 0
}

// subdirs are what attach makes, the deepest first.
var subdirs = [...]string{"/relay", "/bin", ""}
