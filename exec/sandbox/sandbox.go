// SPDX-License-Identifier: Apache-2.0

// Package sandbox confines a program of the host, so that it can read and write only named files.
//
//	Spec --Prepare--> Sandbox --Confine--> one thread --fork--> the program and its descendants
//	                              '--> MetadataServer.Serve: decides chmod, chown, utimes, inotify (Landlock does not)
//
// Landlock limits files, TCP ports, signals and abstract sockets (landlock(7)). A seccomp filter refuses what Landlock
// does not see: unix sockets other than pairs of stream or seqpacket sockets, terminals' input queues, namespaces, and
// kernel interfaces that a build does not need (seccomp(2)). Both hold for all descendants and need no privilege. There
// is no partial confinement: an old kernel gets an error.
package sandbox

import "errors"

// ErrUnsupported means that this system cannot confine programs.
var ErrUnsupported = errors.New("this system cannot confine a program")

// Access is the set of operations that a program may do below a directory, or with a file. The zero value permits none.
type Access int

const (
	Read    Access = 1 + iota // read files, list directories
	Execute                   // Read, and execute programs
	Write                     // Execute, and create, change and remove files
	Device                    // read and write a device, with its ioctls
)

// File permits Access to the directory or file that FD refers to, and to what is below it. It applies to the open
// file, not to a path, so that nobody can substitute another file.
type File struct {
	FD     int // opened with O_PATH or for reading; the caller closes it
	Access Access
}

// Net is the access of a program to the network. The zero value permits nothing.
type Net struct {
	All   bool     // all IPv4 and IPv6 sockets
	Ports []uint16 // otherwise: TCP connections to these ports, and to port 53 if there are any
}

// None reports whether n permits no internet socket at all.
func (n Net) None() bool { return !n.All && len(n.Ports) == 0 }

// Spec lists the permissions of a confined program. The zero value permits no file and no network.
type Spec struct {
	Files []File
	Paths []Path // opened by Prepare; a path that does not exist is skipped
	Net   Net
}
