// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	dockercli "github.com/docker/cli/cli"

	"github.com/docker-hostexec/hostexec/plugin/cli/clitest"
)

// handleSignalsUntilEnd runs handleSignals until the test ends.
func handleSignalsUntilEnd(t *testing.T) (signals chan os.Signal, docker chan struct{}, ctx context.Context) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	signals, docker = make(chan os.Signal), make(chan struct{})
	done := make(chan struct{})
	dockerCLI := clitest.New(t, io.Discard)
	var wg sync.WaitGroup
	// ends when done is closed.
	wg.Go(func() { handleSignals(signals, docker, done, cancel, dockerCLI) })
	t.Cleanup(func() {
		close(done)
		wg.Wait()
		cancel(nil)
	})
	return signals, docker, ctx
}

func TestSignalEndsRunBeforeItsContainer(t *testing.T) {
	for sig, code := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGQUIT: 131, syscall.SIGTERM: 143} {
		signals, _, ctx := handleSignalsUntilEnd(t)
		signals <- sig
		<-ctx.Done()
		checkInterrupted(t, ctx, code)
	}
}

func checkInterrupted(t *testing.T, ctx context.Context, code int) {
	t.Helper()
	var interrupted *Interrupted
	if !errors.As(context.Cause(ctx), &interrupted) {
		t.Fatalf("cause = %v, want a signal", context.Cause(ctx))
	}
	var status dockercli.StatusError
	if err := interrupted.Status(); !errors.As(err, &status) || status.StatusCode != code || err.Error() != "" {
		t.Errorf("status %+v, want the silent %d", err, code)
	}
}

func TestSignalThatDockerReports(t *testing.T) {
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGTERM)
	defer signal.Stop(got)
	_, docker, ctx := handleSignalsUntilEnd(t)
	close(docker)
	if s := <-got; s != syscall.SIGTERM {
		t.Errorf("got %v, want TERM", s)
	}
	checkInterrupted(t, ctx, 143)
}

// TestKeyPressCountsOnce checks that ^C counts once. It reaches docker and this process, and docker may report it
// first.
func TestKeyPressCountsOnce(t *testing.T) {
	signals, docker, ctx := handleSignalsUntilEnd(t)
	close(docker)
	signals <- os.Interrupt
	<-ctx.Done()
	checkInterrupted(t, ctx, 130)
}

// TestFirstSignal covers signals to this process, signals that docker reports, and both.
func TestFirstSignal(t *testing.T) {
	for _, tt := range []struct {
		name    string
		sig     os.Signal // nil: none comes
		docker  bool
		stopped bool
		want    syscall.Signal
	}{
		{"a key", syscall.SIGINT, false, false, syscall.SIGINT},
		{"a hang-up", syscall.SIGHUP, false, false, syscall.SIGHUP},
		{"a key, and docker", syscall.SIGQUIT, true, false, syscall.SIGQUIT},
		{"docker alone", nil, true, false, syscall.SIGTERM},
		{"the verb's end", nil, false, true, 0},
		{"docker, and the verb's end", nil, true, true, syscall.SIGTERM},
	} {
		signals, docker, done := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
		if tt.sig != nil {
			signals <- tt.sig
		}
		if tt.docker {
			close(docker)
		}
		if tt.stopped {
			close(done)
		}
		if got, reported := firstSignal(signals, docker, done); got != tt.want || reported != (tt.sig == nil && tt.docker) {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, reported, tt.want)
		}
	}
}

// TestLateSignal checks that stop waits for a signal that docker has reported. Otherwise the signal would have its
// default action. The verb has ended because docker's context did.
func TestLateSignal(t *testing.T) {
	wantHandled(t, syscall.SIGINT)
	other := make(chan os.Signal, 1)
	signal.Notify(other, syscall.SIGINT) // a signal without another handler would end the tests
	defer signal.Stop(other)
	for inTime := 0; inTime < 20; {
		docker, report := context.WithCancel(context.Background())
		got := make(chan syscall.Signal, 1)
		stop := OnSignals(docker, endSignals, func(sig syscall.Signal) bool {
			got <- sig
			return false
		})
		report()
		reported := time.Now()
		var sent sync.WaitGroup
		// ends when the signal is sent.
		sent.Go(func() { signalSelf(t, syscall.SIGINT) })
		stop()
		sent.Wait()
		if time.Since(reported) >= signalDelay { // on a busy machine
			continue
		}
		if inTime++; len(got) == 0 || <-got != syscall.SIGINT {
			t.Fatal("the signal was not handled")
		}
	}
}

// TestSignalCancels checks that the first signal ends the context of a verb, which then reports its results.
func TestSignalCancels(t *testing.T) {
	for sig, why := range map[syscall.Signal]string{syscall.SIGHUP: "its caller got SIGHUP", syscall.SIGINT: "its caller got SIGINT"} {
		wantHandled(t, sig)
		reported := ""
		ctx, stop := CancelOnSignal(context.Background(), func(i *Interrupted) { reported = i.Reason() })
		signalSelf(t, sig)
		<-ctx.Done()
		stop()
		checkInterrupted(t, ctx, 128+int(sig))
		var interrupted *Interrupted
		if errors.As(context.Cause(ctx), &interrupted) && (interrupted.Reason() != why || reported != why) {
			t.Errorf("the reason is %q, reported %q, want %q", interrupted.Reason(), reported, why)
		}
	}
}

// TestHangUpInterrupts checks that HUP, when the terminal is closed, interrupts a verb.
func TestHangUpInterrupts(t *testing.T) {
	wantHandled(t, syscall.SIGHUP)
	ctx, stop := Interruptible(context.Background(), clitest.New(t, io.Discard))
	defer stop()
	signalSelf(t, syscall.SIGHUP)
	<-ctx.Done()
	checkInterrupted(t, ctx, 129)
}

// TestIgnoredSignalsStayIgnored checks that HUP stays ignored under nohup(1): signal.Notify would undo that.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if got := notIgnored(syscall.SIGHUP, syscall.SIGTERM); len(got) != 1 || got[0] != syscall.SIGTERM {
		t.Errorf("notIgnored = %v, want TERM alone", got)
	}
	stop := OnSignals(context.Background(), endSignals, func(sig syscall.Signal) bool {
		t.Errorf("got %v", sig)
		return true
	})
	signalSelf(t, syscall.SIGHUP)
	stop()
	if !signal.Ignored(syscall.SIGHUP) {
		t.Error("HUP is not ignored any more")
	}
}

// wantHandled fails the test if this process ignores sig, because the test would wait for it forever. nohup(1) and a
// shell's & start such processes.
func wantHandled(t *testing.T, sig os.Signal) {
	t.Helper()
	if signal.Ignored(sig) {
		t.Fatalf("this process ignores %v: start the tests without nohup and without &", sig)
	}
}

func signalSelf(t *testing.T, sig syscall.Signal) {
	t.Helper()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(sig)
	}
	if err != nil {
		t.Error(err)
	}
}
