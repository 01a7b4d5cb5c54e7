// SPDX-License-Identifier: Apache-2.0

// Package keeper runs the processes of this program that do not need docker's command line:
//
//	hostexec-keeper ...    a session's keeper
//	hostexec-helper ...    the monitor of a terminal, the supervisor of a shell, or a process that becomes a command
//	                       whose exec may block
//
// It runs them while packages are initialized, as plugin/metadata does, and has few imports. So most of docker's
// packages are not initialized, which saves a third of the memory of a keeper.
package keeper

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// maxFiles is the maximum number of descriptors that a watcher inherits: the connection to the command that started it
// (watch.Conn), and an agent's stdin, stdout and stderr.
const maxFiles = 4

// LostName is argv[0] of a keeper whose watcher was killed: it answers the callers. Its arguments are the session's
// directory and the exit status of the watcher.
const LostName = "hostexec-lost"

func init() {
	if code, ok := run(os.Args); ok {
		os.Exit(code)
	}
}

// run runs the part of the program that args name, and reports whether they name one. Only this program uses these
// names, to start itself.
func run(args []string) (code int, ok bool) {
	switch {
	case len(args) == 0:
		return 0, false
	case args[0] == proctree.HelperName:
		return proctree.Helper(args), true
	case args[0] == proctree.KeeperName:
		return runKeeper(args[1:]), true
	}
	return 0, false
}

// runKeeper runs the keeper to its end, and returns the exit status. args are
//
//   - the binary and the session's directory,
//   - the number of descriptors that the watcher gets besides its first three,
//   - the time between TERM and KILL for processes that the watcher leaves, and
//   - docker's own flags.
func runKeeper(args []string) int {
	watcher, n, grace := watcherCommand(args)
	if watcher == nil {
		return 125
	}
	var files []*os.File
	for fd := uintptr(3); len(files) < n; fd++ {
		files = append(files, os.NewFile(fd, "conn"))
	}
	code := proctree.Keeper{Grace: grace}.Keep(watcher, os.Environ(), files)
	if code > 128 { // a signal ended the watcher: the rest of the program answers its callers
		_ = syscall.Exec(args[0], []string{LostName, args[1], strconv.Itoa(code)}, os.Environ())
	}
	return code
}

// watcherCommand returns the command line of the watcher that a keeper with these arguments starts, or nil. files is
// the number of descriptors that the watcher gets. grace is the time between TERM and KILL for processes that it
// leaves.
func watcherCommand(args []string) (argv []string, files int, grace time.Duration) {
	if len(args) < 4 {
		return nil, 0, 0
	}
	n, err := strconv.Atoi(args[2])
	grace, gerr := time.ParseDuration(args[3])
	if err != nil || gerr != nil || n < 1 || n > maxFiles {
		return nil, 0, 0
	}
	argv = append([]string{args[0]}, args[4:]...)
	return append(argv, "hostexec", "watcher", args[1]), n, grace
}
