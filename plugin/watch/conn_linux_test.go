// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestExchangeInterrupted: a launcher whose watcher does not answer ends with its context, and the watcher is told so.
// Only the third TERM ended such a run. Without the message, the watcher of an interrupted attach served for ever.
func TestExchangeInterrupted(t *testing.T) {
	for _, tt := range []struct {
		name     string
		exchange func(*Conn, context.Context) error
	}{
		{"ready", (*Conn).Ready},
		{"bind", func(c *Conn, ctx context.Context) error { return c.Bind(ctx, "id", "") }},
		{"http", func(c *Conn, ctx context.Context) error { _, err := c.HTTP(ctx, Gateway{}); return err }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			ours, theirs := os.NewFile(uintptr(fds[0]), "conn"), os.NewFile(uintptr(fds[1]), "conn")
			defer theirs.Close()
			ctx, cancel := context.WithCancelCause(context.Background())
			interrupted := errors.New("interrupted")
			cancel(interrupted)
			c := &Conn{f: ours, r: bufio.NewReader(ours)}
			if err := tt.exchange(c, ctx); !errors.Is(err, interrupted) {
				t.Errorf("exchange = %v, want %v", err, interrupted)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if got, err := io.ReadAll(theirs); err != nil || !bytes.HasSuffix(got, []byte("abort\n")) {
				t.Errorf("the watcher reads %q, %v, want abort at the end", got, err)
			}
		})
	}
}

// TestTryWarn: a warning to a suspended launcher is lost when the connection is full. The watcher waited: a container that
// replaced its directory of requests again and again ended the service, and docker hostexec stop failed.
func TestTryWarn(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "conn"), os.NewFile(uintptr(fds[1]), "conn")
	defer ours.Close()
	w := &LauncherConn{f: theirs}
	for n := 1; n > 0; {
		n, _ = unix.Write(fds[1], []byte("warn \"x\"\n"))
	}
	lost := make(chan struct{})
	// ends with TryWarn, at the latest when ours is closed.
	go func() {
		defer close(lost)
		w.TryWarn("y")
	}()
	select {
	case <-lost:
	case <-time.After(10 * time.Second):
		t.Fatal("TryWarn waits for a launcher that does not read")
	}
	// ends when the launcher reads.
	go func() {
		defer theirs.Close()
		w.Ended()
	}()
	c := &Conn{f: ours, r: bufio.NewReader(ours)}
	err = c.WaitEnd(func(text string) {
		if text != "x" {
			t.Errorf("warned of %q", text)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
