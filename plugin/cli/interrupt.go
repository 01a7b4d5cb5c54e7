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

// Interrupted is the signal that ended run before its container started.
type Interrupted struct{ sig syscall.Signal }

func (i *Interrupted) Error() string { return "interrupted by " + i.sig.String() }

// Caller says of a command that it ended with its caller.
func (i *Interrupted) Caller() string { return "its caller got SIG" + signalNames[i.sig] }

var signalNames = map[syscall.Signal]string{syscall.SIGHUP: "HUP", syscall.SIGINT: "INT", syscall.SIGQUIT: "QUIT", syscall.SIGTERM: "TERM"}

// Code is the exit code that a shell reports then.
func (i *Interrupted) Code() int { return 128 + int(i.sig) }

// Status is how docker run ends then: silently, as a shell would tell of it.
func (i *Interrupted) Status() error { return dockercli.StatusError{StatusCode: i.Code()} }

// patience is how often a run may be told to end before it leaves its container alone,
// which is docker's own number.
const patience = 3

// settling is how long a signal may take to come after docker has reported it.
const settling = 100 * time.Millisecond

// Interruptible returns a context that ends, with an Interrupted as its cause, when this
// process is told to end, or docker, whose plugin it is, says so. Once the container has
// started, docker run passes signals on to it by itself, all but those that docker got in
// our place: see bridge. Such signals are INT, TERM and QUIT, and those of also. Of QUIT, which
// nobody here handles, the Go runtime would print its stacks.
func Interruptible(parent context.Context, dockerCLI command.Cli, also ...os.Signal) (ctx context.Context, stop func()) {
	// Docker's word ends parent, but not which signal it got: that is for attend.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	signals := make(chan os.Signal, patience)
	signal.Notify(signals, append(noticed(append(also, syscall.SIGQUIT)...), os.Interrupt, syscall.SIGTERM)...)
	done := make(chan struct{})
	ended := make(chan struct{})
	// ends when stop closes done; stop waits for it.
	go func() {
		defer close(ended)
		attend(signals, parent.Done(), done, cancel, dockerCLI)
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		<-ended
		cancel(nil)
	}
}

// attend hears signals, and docker's word, until done.
func attend(signals <-chan os.Signal, docker, done <-chan struct{}, cancel context.CancelCauseFunc, dockerCLI command.Cli) {
	heard, ends := 0, 0
	parent := os.Getppid()
	var settle <-chan time.Time
	for {
		select {
		case <-done:
			return
		case s := <-signals:
			heard++
			cancel(&Interrupted{s.(syscall.Signal)}) // all are
			if s == syscall.SIGQUIT {                // docker run passes on as many as come
				continue
			}
			if ends++; ends == patience {
				giveUp(dockerCLI)
			}
		case <-docker:
			docker = nil
			settle = time.After(settling)
		case <-settle:
			// A key press signals docker and us; kill(1) only docker.
			if heard > 0 {
				continue
			}
			if os.Getppid() != parent {
				cancel(&Interrupted{syscall.SIGKILL}) // docker was killed: then the container stays
				continue
			}
			cancel(&Interrupted{syscall.SIGTERM}) // the most likely: docker does not say which
			bridge()
		}
	}
}

// bridge turns docker's word that it was told to end into the signal that we would have
// got standing alone; docker run then passes it on to the container.
func bridge() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		// It cannot fail where there are such signals; docker kills us in the end.
		_ = self.Signal(syscall.SIGTERM)
	}
}

// DockerKilled reports whether ctx, of Interruptible, has ended because docker was killed.
func DockerKilled(ctx context.Context) bool {
	var told *Interrupted
	return errors.As(context.Cause(ctx), &told) && told.sig == syscall.SIGKILL
}

// giveUp ends the process as docker's own main would: nothing else can, for docker run
// waits for its container whatever comes.
func giveUp(dockerCLI command.Cli) {
	fmt.Fprintf(dockerCLI.Err(), "\ngot %d SIGTERM/SIGINTs, forcefully exiting\n", patience)
	dockerCLI.In().RestoreTerminal()
	dockerCLI.Out().RestoreTerminal()
	os.Exit(1)
}
