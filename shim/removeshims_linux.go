// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// removeShims removes the files that attach has put into dir: the commands called names, and their links in
// linkDir that point there. Other files and directories that are not empty stay. It follows no link in
// place of a directory. If self is a shim that was copied into the container for this purpose, it is
// removed too. removeShims returns 0 if all these files are gone.
func removeShims(self, dir, linkDir string, names []string) int {
	const own = "/hostexec-leave-"
	if len(self) > len(own) && self[:len(own)] == own {
		removeShims("", self[:len(self)-len("/bin/hostexec")], linkDir, nil)
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

// subdirs are the directories that attach creates, the deepest first.
var subdirs = [...]string{"/relay", "/bin", ""}
