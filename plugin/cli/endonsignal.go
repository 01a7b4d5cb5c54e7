// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/docker/cli/cli-plugins/plugin"
)

// EndOnSignal makes signals end this process until stop is called. The kernel would do so, but docker
// exits with 255 when its plugin is killed by a signal. So the plugin exits with 128 and the signal's
// number, as a shell reports it.
func EndOnSignal(docker context.Context) (stop func()) {
	if plugin.RunningStandalone() {
		return func() {}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	ended := make(chan struct{})
	done := make(chan struct{})
	// ends when stop closes done, which waits, or with the process.
	go func() {
		defer close(ended)
		if sig := firstSignal(signals, docker.Done(), done); sig != 0 {
			os.Exit(128 + int(sig))
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		<-ended
	}
}

// firstSignal waits for a signal to this process, or for docker to report one. Docker does not say
// which: a signal of a key comes here, too, and otherwise it is most likely TERM.
func firstSignal(signals <-chan os.Signal, docker, done <-chan struct{}) syscall.Signal {
	select {
	case s := <-signals:
		return s.(syscall.Signal)
	case <-done:
		return 0
	case <-docker:
	}
	select {
	case s := <-signals:
		return s.(syscall.Signal)
	case <-time.After(settling):
		return syscall.SIGTERM
	}
}
