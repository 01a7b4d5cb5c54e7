// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/containerd/console"
)

// foregroundPoll is the time between two looks whether this process is in the foreground. No event reports that.
const foregroundPoll = 100 * time.Millisecond

// AwaitForeground waits until this process is in the foreground of its terminal, which is stdin. If ctx ends first, it
// returns the cause. A process in the background, where timeout(1) starts it, is suspended when it reads from the
// terminal or changes its mode. Then only KILL ends it, because it is suspended again before it handles a signal.
func AwaitForeground(ctx context.Context) error {
	tick := time.NewTicker(foregroundPoll)
	defer tick.Stop()
	for !foreground() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return context.Cause(ctx)
}

// RawKeys makes the terminal raw, which is stdin, once this process is in the foreground, and returns the typed bytes.
// restore undoes that. Until then, the terminal does not suspend this process, and nothing is read in the background.
func RawKeys(ctx context.Context) (keys io.Reader, restore func(), err error) {
	if err := AwaitForeground(ctx); err != nil {
		return nil, nil, err
	}
	terminal, err := console.ConsoleFromFile(os.Stdin)
	if err != nil {
		return nil, nil, fmt.Errorf("use this terminal: %w", err)
	}
	undo := ignoreSuspension()
	if err := terminal.SetRaw(); err != nil {
		undo()
		return nil, nil, fmt.Errorf("use this terminal: %w", err)
	}
	return foregroundReader{ctx}, func() {
		if foreground() { // otherwise the terminal has the mode of another program
			terminal.Reset()
		}
		undo()
	}, nil
}

// foregroundReader reads from stdin while this process is in the foreground.
type foregroundReader struct{ ctx context.Context }

func (r foregroundReader) Read(b []byte) (int, error) {
	for {
		n, err := os.Stdin.Read(b)
		if !errors.Is(err, syscall.EIO) || foreground() {
			return n, err
		}
		if err := AwaitForeground(r.ctx); err != nil {
			return 0, err
		}
	}
}
