// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/docker/cli/cli-plugins/plugin"
)

// EndOnSignal makes signals end this process with exit code 128 plus the signal's number, as a shell reports
// it, until stop is called. Without it the kernel would end the process, and docker exits with 255 when a
// signal kills its plugin. A standalone process handles only QUIT, because the Go runtime would print its stacks.
func EndOnSignal(docker context.Context) (stop func()) {
	signals := []os.Signal{syscall.SIGQUIT}
	if !plugin.RunningStandalone() {
		signals = endSignals
	}
	return OnSignals(docker, signals, func(sig syscall.Signal) bool {
		os.Exit(128 + int(sig))
		return false
	})
}

// ReportOnSignal is EndOnSignal for a verb that first reports the signal. report must return soon.
func ReportOnSignal(docker context.Context, report func(*Interrupted)) (stop func()) {
	return OnSignals(docker, endSignals, func(sig syscall.Signal) bool {
		report(&Interrupted{sig})
		os.Exit(128 + int(sig))
		return false
	})
}

// CancelOnSignal returns a context that ends at the first signal with an Interrupted as its cause. So a verb can print
// its results so far. It ends after report has returned, if report is not nil. The second signal ends this process,
// because the verb may be blocked writing its output.
func CancelOnSignal(docker context.Context, report func(*Interrupted)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(docker))
	end := OnSignals(docker, endSignals, func(sig syscall.Signal) bool {
		if ctx.Err() != nil {
			os.Exit(128 + int(sig))
		}
		i := &Interrupted{sig}
		if report != nil {
			report(i)
		}
		cancel(i)
		return true
	})
	return ctx, func() {
		end()
		cancel(nil)
	}
}

// endSignals are the signals that end a verb.
var endSignals = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}

// OnSignals calls act with each of the given signals to this process until act returns false or stop is called. The
// context docker ends when the docker process gets a signal; then OnSignals calls act, too. If a signal has killed docker,
// OnSignals reports HUP.
func OnSignals(docker context.Context, which []os.Signal, act func(syscall.Signal) bool) (stop func()) {
	signals, stopSignals := receiveSignals(notIgnored(which...))
	ended := make(chan struct{})
	done := make(chan struct{})
	reports := docker.Done()
	parent := os.Getppid()
	// ends when stop closes done, or with the process; stop waits for it
	go func() {
		defer close(ended)
		for {
			sig, reported := firstSignal(signals, reports, done)
			if reported && os.Getppid() != parent {
				sig = syscall.SIGHUP // docker itself handles only INT and TERM
			}
			if sig == 0 || !act(sig) {
				return
			}
			reports = nil // docker reports only one signal
			if reported {
				_, _ = firstSignal(signals, nil, done) // the same signal, which comes late
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		stopSignals() // last: a signal that docker has reported may still come
	}
}

// receiveSignals passes on the given signals to this process, until stop is called. As in the kernel, one signal of each
// kind can wait. With one channel for all kinds, a TERM behind two HUPs would be lost.
func receiveSignals(which []os.Signal) (received <-chan os.Signal, stop func()) {
	all, done := make(chan os.Signal), make(chan struct{})
	var wg sync.WaitGroup
	for _, sig := range which {
		one := make(chan os.Signal, 1)
		signal.Notify(one, sig)
		// ends when stop closes done.
		wg.Go(func() {
			defer signal.Stop(one)
			for {
				select {
				case sig := <-one:
					select {
					case all <- sig:
					case <-done:
						return
					}
				case <-done:
					return
				}
			}
		})
	}
	return all, func() {
		close(done)
		wg.Wait()
	}
}

// notIgnored returns the signals that this process does not ignore. signal.Notify would undo the effect of
// nohup(1).
func notIgnored(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(slices.Clone(signals), signal.Ignored)
}

// firstSignal waits for a signal to this process, or for docker's report of a signal. docker does not say
// which signal it got. A signal from the keyboard also reaches this process; any other is most likely TERM.
// reported means that no signal has reached this process.
func firstSignal(signals <-chan os.Signal, docker, done <-chan struct{}) (sig syscall.Signal, reported bool) {
	select {
	case s := <-signals:
		return s.(syscall.Signal), false
	case <-done: // perhaps because the verb has noticed that docker's context ended
		select {
		case <-docker:
		default:
			return 0, false
		}
	case <-docker:
	}
	select {
	case s := <-signals:
		return s.(syscall.Signal), false
	case <-time.After(signalDelay):
		return syscall.SIGTERM, true
	}
}
