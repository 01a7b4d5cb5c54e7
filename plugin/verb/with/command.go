// SPDX-License-Identifier: Apache-2.0

package with

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	dockercli "github.com/docker/cli/cli"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

// Exit codes if COMMAND cannot be started, as of env(1).
const (
	codeNotInvoked = 126
	codeNotFound   = 127
)

// socketOverride is the variable in which testcontainers finds the socket to mount into its Ryuk container.
const socketOverride = "TESTCONTAINERS_DOCKER_SOCKET_OVERRIDE"

// socketForContainers returns the path of the engine's own socket on the engine's host.
func socketForContainers(engine string) string {
	path, unix := strings.CutPrefix(engine, "unix://")
	if !unix || strings.Contains(path, "/.docker/") { // Docker Desktop's engine runs in a virtual machine
		return "/var/run/docker.sock"
	}
	return path
}

// find returns the path of COMMAND.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return filepath.Abs(path)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", &cli.Failure{Code: codeNotFound, Err: fmt.Errorf("command %s was not found", names.Quoted(name))}
	}
	return "", &cli.Failure{Code: codeNotInvoked, Err: fmt.Errorf("command %s: %w", names.Quoted(name), errors.Unwrap(err))}
}

// runCommand runs COMMAND in this process's group, so that COMMAND can use the terminal. It returns COMMAND's result.
func runCommand(docker context.Context, path string, args, env []string) error {
	cmd := &exec.Cmd{Path: path, Args: args, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	started, failed := make(chan struct{}), false
	stop := cli.OnSignals(docker, forwarded, func(sig syscall.Signal) bool {
		<-started
		if !failed && !fromKeyboard(sig) {
			_ = cmd.Process.Signal(sig) // fails if it has ended
		}
		return true
	})
	defer stop()
	err := cmd.Start()
	failed = err != nil
	close(started)
	if err != nil {
		return &cli.Failure{Code: codeNotInvoked, Err: fmt.Errorf("start %s: %w", names.Quoted(args[0]), err)}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	return dockercli.StatusError{StatusCode: status(exit)}
}
