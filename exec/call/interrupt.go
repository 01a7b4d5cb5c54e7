// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// interrupted is the cause of the end of a call whose caller got a signal.
type interrupted struct{ by executor.Signal }

func (i *interrupted) Error() string { return "its caller got SIG" + i.by }

// exit returns an Exit with which the caller ends like a program that the signal ends.
func (i *interrupted) exit() wire.Exit {
	return wire.Exit{Outcome: wire.Signaled, Code: 128 + wire.Fatal(i.by), Signal: i.by}
}

// interruptible returns a context for a verb that waits. A fatal signal to the caller cancels it with an
// interrupted as its cause, and makes output expire. ^Z stops only the caller. Call it after Started, because the shim handles
// signals itself until then. stop returns when signals are no longer read.
func (p *peer) interruptible(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	var reader sync.WaitGroup
	// ends with ctx; stop cancels it and waits.
	reader.Go(func() {
		for {
			select {
			case got := <-p.signals:
				if wire.Fatal(got.Signal) != 0 {
					cancel(&interrupted{got.Signal})
					p.expire()
				} else if got.Signal == "TSTP" {
					p.send(wire.KindStopped, nil)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() {
		cancel(nil)
		reader.Wait()
	}
}
