// SPDX-License-Identifier: Apache-2.0

// Package room is the first process of a container that was made for one command.
//
//	room -> Notice (+ its working directory, and its root)                   -> host
//	room <- Exec (umask for environment, + what 0, 1, 2 are to be)  Signal*   <- host
//	room -> Started (+ the master of a terminal) | Exit   Stopped*   Exit    -> host
//
// Its one law: nothing outlives the host's end of the connection. When that closes, whatever
// closed it, everything in the container is asked to end, and after a grace is killed; when
// the command has ended the rest ends with the container.
//
// It decides nothing and moves no bytes: the command's descriptors are those that the host
// sent, and a terminal's other side goes to the host. It is the same program as the shim,
// by another name.
package room

import "github.com/docker-hostexec/hostexec/shim/wire"

// Name is what the program is called in a container of its own. No command can be.
const Name = ".room"

// Socket is the name of the host's socket, in the directory that the program is in.
const Socket = "socket"

// Called reports whether a program that was started with args is a room.
func Called(args []string) bool { return len(args) > 0 && base(args[0]) == Name }

// Main runs the command that the host names, with env, and returns when it has ended. What
// else runs in the container ends with this process.
func Main(args, env []string) int { return run(dir(args[0]), env) }

func base(path string) string { return path[slash(path)+1:] }

func dir(path string) string { return path[:slash(path)+1] }

// slash returns where the last slash of path is, or -1.
func slash(path string) int {
	i := len(path) - 1
	for i >= 0 && path[i] != '/' {
		i--
	}
	return i
}

// The host has the exit code of the container only when it was not told what became of the
// command.
const failed = wire.CodeFailed
