// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// Supported reports whether sessions can be served on this system.
const Supported = true

// linkFD is where keeper and watcher find their end of the link, stdioFD where an agent's
// three descriptors begin.
const (
	linkFD  = 3
	stdioFD = 4
)

// Start starts the keeper and the watcher of a session. dir is the session's directory, which is created before
// Link.Recorded. So a watcher exists to remove it if run is killed. Both processes outlive this one. globalArgs
// are docker's own flags, by which the watcher reaches the same engine. stdio is nil, or becomes 0, 1 and 2 of
// the Process of Link.Run. The caller ends the link, by Done, Over or Close.
func Start(dir string, globalArgs []string, stdio ...*os.File) (*Link, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start watcher: %w", err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("start watcher: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "link"), os.NewFile(uintptr(fds[1]), "link")
	defer theirs.Close()

	cmd := exec.Command(exe)
	grace := proctree.DefaultGrace
	if len(stdio) > 0 {
		grace = AgentGrace
	}
	cmd.Args = append([]string{proctree.KeeperName, exe, dir, strconv.Itoa(1 + len(stdio)), grace.String()}, globalArgs...)
	cmd.Dir = "/" // no file system is held busy
	// Docker's plugin socket would end the watcher with docker. The rest is not meant for commands.
	cmd.Env = osenv.Without(os.Environ(), "DOCKER_CLI_PLUGIN_", "HOSTEXEC_")
	cmd.ExtraFiles = append([]*os.File{theirs}, stdio...)
	// A separate session, so that the end of the terminal does not end it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start watcher: %w", err), ours.Close())
	}
	cmd.Process.Release() // it is meant to outlive us
	return &Link{f: ours, r: bufio.NewReader(ours)}, nil
}

// InheritedLink returns the watcher's end of the link.
func InheritedLink() *os.File {
	unix.SetNonblock(linkFD, true) // so that closing it ends a read
	return os.NewFile(linkFD, "link")
}

// KeeperPipe returns the watcher's stdin, which ends when its keeper dies.
func KeeperPipe() *os.File {
	unix.SetNonblock(unix.Stdin, true) // so that closing it ends a read
	return os.NewFile(uintptr(unix.Stdin), "keeper")
}

// AgentStdio are an agent's descriptors, at its watcher.
var AgentStdio = [3]int{stdioFD, stdioFD + 1, stdioFD + 2}

// CloseAgentStdio lets go of them, so that whoever reads the agent's output sees the end of it.
func CloseAgentStdio() {
	for _, fd := range AgentStdio {
		unix.Close(fd)
	}
}
