// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package watch

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// OnHost says whether the sessions of agents can be served that are processes of this system's.
const OnHost = true

// linkFD is where keeper and watcher find their end of the link, stdioFD where an agent's
// three descriptors begin.
const (
	linkFD  = 3
	stdioFD = 4
)

// Start starts the keeper and the watcher of the session whose folder is dir, and will be
// made before Link.Recorded: whenever run is killed, somebody is there to remove it. They
// outlive this process. globalArgs are docker's own flags, with which the watcher reaches
// the same engine. stdio is nothing, or what becomes 0, 1 and 2 of Link.Run's Process. The
// caller ends the link, by Done, Over or Close.
func Start(dir string, globalArgs []string, stdio ...*os.File) (*Link, error) {
	if !Supported && len(stdio) == 0 {
		return nil, errSystem
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start watcher: %w", err)
	}
	fds, err := pair()
	if err != nil {
		return nil, fmt.Errorf("start watcher: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "link"), os.NewFile(uintptr(fds[1]), "link")
	defer theirs.Close()

	cmd := exec.Command(exe)
	cmd.Args = append([]string{state.KeeperName, exe, dir, strconv.Itoa(1 + len(stdio))}, globalArgs...)
	cmd.Dir = "/" // no file system is held busy
	cmd.Env = cleaned(os.Environ())
	cmd.ExtraFiles = append([]*os.File{theirs}, stdio...)
	// A session of its own: what ends the terminal does not end it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start watcher: %w", err), ours.Close())
	}
	cmd.Process.Release() // it is meant to outlive us
	return &Link{f: ours, r: bufio.NewReader(ours)}, nil
}

var errSystem = errors.New("sessions of containers are not supported on " + runtime.GOOS)

// cleaned is env without what docker and hostexec tell their own processes: docker's
// plugin socket would end the watcher with docker, and the rest is not the commands'.
func cleaned(env []string) []string {
	var out []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, "DOCKER_CLI_PLUGIN_") && !strings.HasPrefix(kv, "HOSTEXEC_") {
			out = append(out, kv)
		}
	}
	return out
}

// Keep is the keeper's whole life: args are the binary, the session's folder, how many
// descriptors come along, and docker's own flags. It returns the exit status.
func Keep(args []string) int {
	if len(args) < 3 {
		return 125
	}
	watcher := append([]string{args[0]}, args[3:]...)
	watcher = append(watcher, "hostexec", "watcher", args[1])
	files := []*os.File{os.NewFile(linkFD, "link")}
	if n, err := strconv.Atoi(args[2]); err == nil && n == 4 {
		for i := range 3 {
			files = append(files, os.NewFile(stdioFD+uintptr(i), "stdio"))
		}
	}
	return proctree.Keep(watcher, os.Environ(), files)
}

// Uplink returns the watcher's end of the link.
func Uplink() *os.File {
	unix.SetNonblock(linkFD, true) // so that closing it ends a read
	return os.NewFile(linkFD, "link")
}

// stdio are an agent's descriptors, at its watcher.
var stdio = [3]int{stdioFD, stdioFD + 1, stdioFD + 2}

// closeStdio lets go of them, so that whoever reads the agent's output sees the end of it.
func closeStdio() {
	for _, fd := range stdio {
		unix.Close(fd)
	}
}
