// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"log/slog"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// afterMessages returns a command whose first process has sent a text and closed the connection.
func afterMessages(t *testing.T, words []byte) *containerProcess {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fds[0]), "here")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := unix.Write(fds[1], words); err != nil {
		t.Fatal(err)
	}
	unix.Close(fds[1])
	proc := &containerProcess{containers: &Containers{Log: slog.New(slog.DiscardHandler)}, conn: conn.(*net.UnixConn), done: make(chan struct{}), stopped: make(chan struct{}, 1)}
	proc.listen()
	<-proc.done
	return proc
}

func exit(m wire.Exit) []byte { return wire.AppendFrame(nil, wire.KindExit, m.Append(nil)) }

// TestStatus checks that every exit code and every signal is reported unchanged.
func TestStatus(t *testing.T) {
	for code := range 256 {
		ws := afterMessages(t, exit(wire.Exit{Outcome: wire.Exited, Code: byte(code)})).status
		if !ws.Exited() || ws.ExitStatus() != code {
			t.Errorf("exit %d arrives as %v", code, ws)
		}
	}
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		ws := afterMessages(t, exit(wire.Exit{Outcome: wire.Signaled, Code: byte(sig), Signal: strconv.Itoa(int(sig))})).status
		if !ws.Signaled() || ws.Signal() != sig {
			t.Errorf("signal %d arrives as %v", sig, ws)
		}
	}
}

// TestInvalidMessages checks that an invalid message ends the command with the status of SIGKILL.
func TestInvalidMessages(t *testing.T) {
	stopped := wire.AppendFrame(nil, wire.KindStopped, nil)
	for name, words := range map[string][]byte{
		"nothing":          nil,
		"half a header":    {byte(wire.KindExit)},
		"half a frame":     exit(wire.Exit{Outcome: wire.Exited, Code: 3})[:6],
		"too long a frame": wire.AppendHeader(nil, wire.KindExit, wire.MaxFrame),
		"an endless frame": wire.AppendHeader(nil, wire.KindExit, 1<<31-1),
		"another kind":     wire.AppendFrame(nil, wire.KindStarted, nil),
		"no outcome":       exit(wire.Exit{}),
		"an empty exit":    wire.AppendFrame(nil, wire.KindExit, nil),
		"stopped, no end":  stopped,
	} {
		if ws := afterMessages(t, words).status; !ws.Signaled() || ws.Signal() != syscall.SIGKILL {
			t.Errorf("%s: %v, want death of KILL", name, ws)
		}
	}
	var many []byte
	for range 1000 {
		many = append(many, stopped...)
	}
	if ws := afterMessages(t, append(many, exit(wire.Exit{Outcome: wire.Exited, Code: 7})...)).status; ws.ExitStatus() != 7 {
		t.Errorf("stopped a thousand times, and code 7: %v", ws)
	}
}
