// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

const suspendedDir = "HOSTEXEC_TEST_SUSPENDED"

func TestMain(m *testing.M) {
	if dir := os.Getenv(suspendedDir); dir != "" {
		if err := suspendedWatcher(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// suspendedWatcher is the process that TestSuspended starts. It suspends itself when it has accepted a connection.
func suspendedWatcher(dir string) error {
	l, err := net.Listen("unix", state.ControlSock(dir))
	if err != nil {
		return err
	}
	os.Stdout.WriteString("up\n")
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		return err
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	_, err = io.Copy(io.Discard, conn) // the signal may come a moment later
	return err
}

// TestSuspended asks a watcher that is suspended after it has accepted the connection.
func TestSuspended(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), suspendedDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if _, err := out.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	c := Dial(dir)
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends when the process is suspended, or dead
		_, _ = syscall.Wait4(cmd.Process.Pid, nil, syscall.WUNTRACED, nil)
		cancel()
	}()
	_, err = c.Status(ctx)
	if halted := (*SuspendedError)(nil); !errors.As(err, &halted) || halted.PID != cmd.Process.Pid {
		t.Errorf("Status = %v, want that process %d is suspended", err, cmd.Process.Pid)
	}
}
