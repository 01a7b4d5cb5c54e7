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
