// SPDX-License-Identifier: Apache-2.0

// Package initproc is the first process of a call container, which runs one command.
//
//	init -> Notice (+ its working directory, and its root)                     -> host
//	init <- Exec (program, argv, umask; + descriptors for 0, 1, 2)  Signal*    <- host
//	init -> Started (+ the master of a terminal) | Exit   Stopped*   Exit      -> host
//
// In Exec, Args has the program and then its argv, and Env has only the umask in octal. In Exit, Signal is a number,
// and Code is an exit code, a signal's number, or the errno of a command that did not start.
//
// No process outlives the connection to the host. When the connection ends for any reason, all processes in the
// container get SIGTERM, and after a grace SIGKILL. When the command ends, the container ends with all other processes.
//
// The package makes no decisions and copies no data. The command's descriptors are those that the host has
// sent, and the master of a terminal goes to the host. It is part of the shim's program, under another
// name.
package initproc

import "github.com/docker-hostexec/hostexec/shim/wire"

// Name is the name of the program in a call container. No command can have this name.
const Name = ".init"

// Socket is the name of the host's socket, in the directory of the program.
const Socket = "socket"

// Called reports whether args, the arguments of the program, call this first process.
func Called(args []string) bool { return len(args) > 0 && base(args[0]) == Name }

// Main runs the command that the host sends, with env, and returns after its end. All other processes in
// the container end with this process.
func Main(args, env []string) int { return run(dir(args[0]), env) }

func base(path string) string { return path[slash(path)+1:] }

func dir(path string) string { return path[:slash(path)+1] }

// slash returns the index of the last slash in path, or -1.
func slash(path string) int {
	i := len(path) - 1
	for i >= 0 && path[i] != '/' {
		i--
	}
	return i
}

// failed is the exit code of this process after an error. The host uses it only if it gets no message
// about the command's end.
const failed = wire.CodeFailed
