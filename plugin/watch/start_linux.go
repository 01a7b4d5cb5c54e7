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

// connFD is the descriptor of the connection in the keeper and the watcher. stdioFD is the first of an agent's three
// descriptors.
const (
	connFD  = 3
	stdioFD = 4
)

// Start starts the keeper and the watcher of a session, which outlive this process. dir is the session's directory. The
// caller creates it after Start and before Conn.Recorded: then a watcher already runs that removes it if the caller is
// killed. globalArgs are docker's flags for the same engine. stdio is nil, or becomes 0, 1 and 2 of the Process of
// Conn.Run. The caller ends the connection by Done, EndSession or Close.
func Start(dir string, globalArgs []string, stdio ...*os.File) (*Conn, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start watcher: %w", err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("start watcher: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "conn"), os.NewFile(uintptr(fds[1]), "conn")
	defer theirs.Close()

	cmd := exec.Command(exe)
	grace := proctree.DefaultGrace
	if len(stdio) > 0 {
		grace = AgentGrace
	}
	cmd.Args = append([]string{proctree.KeeperName, exe, dir, strconv.Itoa(1 + len(stdio)), grace.String()}, globalArgs...)
	cmd.Dir = "/" // so that file systems can be unmounted
	// Docker's plugin socket would end the watcher with docker. The other variables are not meant for commands.
	cmd.Env = osenv.Without(os.Environ(), "DOCKER_CLI_PLUGIN_", "HOSTEXEC_")
	cmd.ExtraFiles = append([]*os.File{theirs}, stdio...)
	// The end of the terminal ends only processes of the terminal's session: see setsid(2).
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start watcher: %w", err), ours.Close())
	}
	cmd.Process.Release() // it is meant to outlive us
	return &Conn{f: ours, r: bufio.NewReader(ours)}, nil
}

// InheritedConn returns the watcher's end of the connection.
func InheritedConn() *os.File {
	unix.SetNonblock(connFD, true) // so that closing it ends a read
	return os.NewFile(connFD, "conn")
}

// KeeperPipe returns the watcher's stdin, which ends when its keeper dies.
func KeeperPipe() *os.File {
	unix.SetNonblock(unix.Stdin, true) // so that closing it ends a read
	return os.NewFile(uintptr(unix.Stdin), "keeper")
}

// AgentStdio are an agent's descriptors in its watcher.
var AgentStdio = [3]int{stdioFD, stdioFD + 1, stdioFD + 2}

// CloseAgentStdio closes AgentStdio, so that readers of the agent's output see its end.
func CloseAgentStdio() {
	for _, fd := range AgentStdio {
		unix.Close(fd)
	}
}
