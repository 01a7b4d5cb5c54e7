// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// TestOnSignalsBusy sends a TERM behind two other signals, while the first is still handled. The TERM is not lost.
func TestOnSignalsBusy(t *testing.T) {
	delivered := make(chan os.Signal, 3) // the runtime delivers a signal to all channels before the next signal
	signal.Notify(delivered, syscall.SIGUSR1, syscall.SIGTERM)
	defer signal.Stop(delivered)
	acting, proceed, done := make(chan syscall.Signal), make(chan struct{}), make(chan struct{})
	stop := OnSignals(context.Background(), []os.Signal{syscall.SIGUSR1, syscall.SIGTERM}, func(sig syscall.Signal) bool {
		select {
		case acting <- sig:
		case <-done:
			return false
		}
		<-proceed
		return sig != syscall.SIGTERM
	})
	defer stop()
	defer close(done)
	send := func(sig syscall.Signal) {
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		<-delivered
	}
	send(syscall.SIGUSR1)
	<-acting
	send(syscall.SIGUSR1)
	send(syscall.SIGTERM)
	close(proceed)
	late := time.After(10 * time.Second)
	for {
		select {
		case sig := <-acting: // first of both is either: signals have no order
			if sig == syscall.SIGTERM {
				return
			}
		case <-late:
			t.Fatal("the TERM was lost")
		}
	}
}
