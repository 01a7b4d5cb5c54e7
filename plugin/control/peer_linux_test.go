// SPDX-License-Identifier: Apache-2.0

package control

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"
)

// TestAdmittedWhileInterrupted checks that signals that this process gets do not make a living peer look dead. Go's
// runtime sends SIGURG to its own threads at any time.
func TestAdmittedWhileInterrupted(t *testing.T) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(t.TempDir(), "s")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stop, stopped := make(chan struct{}), make(chan struct{})
	// Ends when stop is closed; waited for below.
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = syscall.Kill(syscall.Getpid(), syscall.SIGURG)
			}
		}
	}()
	defer func() {
		close(stop)
		<-stopped
	}()
	for i := range 50_000 {
		if !peerAlive(conn) {
			t.Fatalf("check %d: the peer looks dead", i)
		}
	}
}
