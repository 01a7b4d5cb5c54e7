// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/docker/cli/cli-plugins/plugin"
)

// EndOnSignal makes signals end this process until stop is called. The kernel would do so, but docker
// exits with 255 when its plugin is killed by a signal. So the plugin exits with 128 and the signal's
// number, as a shell reports it. A program of its own handles only QUIT, for which the Go runtime would
// print its stacks.
func EndOnSignal(docker context.Context) (stop func()) {
	signals := []os.Signal{syscall.SIGQUIT}
	if !plugin.RunningStandalone() {
		signals = endSignals
	}
	return onSignals(docker, signals, func(sig syscall.Signal) bool {
		os.Exit(128 + int(sig))
		return false
	})
}

// CancelOnSignal returns a context that the first signal ends, with an Interrupted as its cause, so
// that a verb can report what it has until then. The second signal ends this process, as the verb may
// wait for a reader of its output.
func CancelOnSignal(docker context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(docker))
	end := onSignals(docker, endSignals, func(sig syscall.Signal) bool {
		if ctx.Err() != nil {
			os.Exit(128 + int(sig))
		}
		cancel(&Interrupted{sig})
		return true
	})
	return ctx, func() {
		end()
		cancel(nil)
	}
}

// endSignals are the signals that end a verb.
var endSignals = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}

// onSignals calls act with each of those signals to this process while it returns true, until stop is called.
func onSignals(docker context.Context, which []os.Signal, act func(syscall.Signal) bool) (stop func()) {
	signals := make(chan os.Signal, 1)
	if which = noticed(which...); len(which) > 0 { // none would be all
		signal.Notify(signals, which...)
	}
	ended := make(chan struct{})
	done := make(chan struct{})
	word := docker.Done()
	// ends when stop closes done, which waits, or with the process.
	go func() {
		defer close(ended)
		for {
			sig, reported := firstSignal(signals, word, done)
			if sig == 0 || !act(sig) {
				return
			}
			word = nil // docker reports one signal only
			if reported {
				_, _ = firstSignal(signals, nil, done) // the same one, late
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		<-ended
	}
}

// noticed returns those of signals that this process does not ignore: nohup(1) has it ignore HUP, and
// signal.Notify would undo that.
func noticed(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(slices.Clone(signals), signal.Ignored)
}

// firstSignal waits for a signal to this process, or for docker to report one. Docker does not say
// which: a signal of a key comes here, too, and otherwise it is most likely TERM. reported means that
// none has come here.
func firstSignal(signals <-chan os.Signal, docker, done <-chan struct{}) (sig syscall.Signal, reported bool) {
	select {
	case s := <-signals:
		return s.(syscall.Signal), false
	case <-done:
		return 0, false
	case <-docker:
	}
	select {
	case s := <-signals:
		return s.(syscall.Signal), false
	case <-time.After(settling):
		return syscall.SIGTERM, true
	}
}
