// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
)

// Interrupted is the signal that ended a verb.
type Interrupted struct{ sig syscall.Signal }

func (i *Interrupted) Error() string { return "interrupted by " + i.sig.String() }

// Reason returns why a command ended together with its caller.
func (i *Interrupted) Reason() string { return "its caller got SIG" + i.Signal() }

// Signal returns the signal's name, for example INT.
func (i *Interrupted) Signal() string { return signalNames[i.sig] }

var signalNames = map[syscall.Signal]string{syscall.SIGHUP: "HUP", syscall.SIGINT: "INT", syscall.SIGQUIT: "QUIT", syscall.SIGTERM: "TERM"}

// Code returns the exit code that a shell reports for the signal.
func (i *Interrupted) Code() int { return 128 + int(i.sig) }

// Status returns docker run's silent error with the signal's exit code.
func (i *Interrupted) Status() error { return dockercli.StatusError{StatusCode: i.Code()} }

// CauseOf returns err, or the cause of ctx if ctx has ended: err is then a consequence.
func CauseOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// maxSignals is the number of signals after which run leaves its container alone, as in docker.
const maxSignals = 3

// signalDelay is the time limit for a signal to arrive after docker has reported it.
const signalDelay = 100 * time.Millisecond

// Interruptible returns a context that ends, with an Interrupted as its cause, when this process gets a
// signal or docker reports one. The signals are INT, TERM, QUIT and HUP. After the container has started,
// docker run passes on the signals that this process gets; raiseSignal adds those that only docker got.
func Interruptible(parent context.Context, dockerCLI command.Cli) (ctx context.Context, stop func()) {
	// parent ends when docker reports a signal, but without its number. handleSignals handles that.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	signals := make(chan os.Signal, maxSignals)
	signal.Notify(signals, append(notIgnored(syscall.SIGHUP, syscall.SIGQUIT), os.Interrupt, syscall.SIGTERM)...)
	done := make(chan struct{})
	ended := make(chan struct{})
	// ends when stop closes done; stop waits for it.
	go func() {
		defer close(ended)
		handleSignals(signals, parent.Done(), done, cancel, dockerCLI)
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		<-ended
		cancel(nil)
	}
}

// handleSignals handles signals and docker's report until done is closed.
func handleSignals(signals <-chan os.Signal, docker, done <-chan struct{}, cancel context.CancelCauseFunc, dockerCLI command.Cli) {
	received, ends := 0, 0
	parent := os.Getppid()
	var delay <-chan time.Time
	for {
		select {
		case <-done:
			return
		case s := <-signals:
			received++
			cancel(&Interrupted{s.(syscall.Signal)})         // every signal here is a syscall.Signal
			if s == syscall.SIGQUIT || s == syscall.SIGHUP { // docker run passes on any number of these
				continue
			}
			if ends++; ends == maxSignals {
				exitRun(dockerCLI)
			}
		case <-docker:
			docker = nil
			delay = time.After(signalDelay)
		case <-delay:
			// A key press signals docker and this process; kill(1) signals only docker.
			if received > 0 {
				continue
			}
			if os.Getppid() != parent {
				cancel(&Interrupted{syscall.SIGKILL}) // docker was killed, so the container stays
				continue
			}
			cancel(&Interrupted{syscall.SIGTERM}) // the most likely signal: docker does not say which
			raiseSignal()
		}
	}
}

// raiseSignal sends this process the signal that docker got, so that docker run passes it on to the container.
func raiseSignal() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		// It cannot fail on systems with these signals; docker kills this process in the end.
		_ = self.Signal(syscall.SIGTERM)
	}
}

// DockerKilled reports whether ctx, which Interruptible returned, ended because docker was killed.
func DockerKilled(ctx context.Context) bool {
	var interrupted *Interrupted
	return errors.As(context.Cause(ctx), &interrupted) && interrupted.sig == syscall.SIGKILL
}

// exitRun exits as docker's own main does, because docker run waits for its container in any case.
func exitRun(dockerCLI command.Cli) {
	fmt.Fprintf(dockerCLI.Err(), "\ngot %d SIGTERM/SIGINTs, forcefully exiting\n", maxSignals)
	dockerCLI.In().RestoreTerminal()
	dockerCLI.Out().RestoreTerminal()
	os.Exit(1)
}
