// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sync"
	"time"
)

// remoteCommand is a command that the program in a container or a sandbox runs.
type remoteCommand struct {
	process *remoteProcess
	number  uint32
	out     Output

	started chan int       // receives the pid once
	done    chan runResult // receives once
	wakeup  chan struct{}  // receives when there is output
	stop    chan struct{}  // closed when no more output comes

	mu      sync.Mutex // guards the fields below
	pending [2][]byte  // stdout and stderr that are not passed on yet
	allowed int        // bytes that the program may still send
	begun   bool       // frameStarted has come
	over    bool       // frameDone has come
}

// run implements process.
func (p *remoteProcess) run(ctx context.Context, b StartConfig, c Command, o Output, release func()) (int, error) {
	request := encoded(runRequest{
		ID: []byte(c.ID), Text: []byte(c.Text), Dir: []byte(c.Dir), Env: byteStrings(c.Env),
		Start: c.Copy, Base: byteStrings(b.Env), ByHost: b.ByHost,
	})
	if len(request) > maxRequest {
		return 0, fmt.Errorf("a text for a shell in %s has at most %d MiB", p.at.place(), maxRequest>>21)
	}
	r := p.newCommand(o)
	defer p.forget(r)
	if err := p.send(frameRun, r.number, request); err != nil {
		return 0, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	defer o.expireWith(ctx)()
	var copying sync.WaitGroup
	var failed error
	code, err := r.wait(ctx, func(pid int) {
		if o.Started != nil {
			o.Started(c.ID, p.at.pid(pid))
		}
		if c.Copy {
			release()
		}
		// Ends when stop is closed, or a writer fails; waited for below.
		copying.Go(func() {
			if failed = r.copy(); failed != nil {
				fail(failed)
			}
		})
	})
	close(r.stop)
	copying.Wait()
	return code, delivered(ctx, err, failed)
}

func (p *remoteProcess) newCommand(o Output) *remoteCommand {
	r := &remoteCommand{
		process: p, out: o, allowed: outputAhead,
		started: make(chan int, 1), done: make(chan runResult, 1), wakeup: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.numbers++
	r.number = p.numbers
	p.commands[r.number] = r
	return r
}

func (p *remoteProcess) forget(r *remoteCommand) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.commands, r.number)
}

// wait returns the result of the command, and calls begun when it has started.
func (r *remoteCommand) wait(ctx context.Context, begun func(pid int)) (int, error) {
	started := r.started
	for {
		select {
		case pid := <-started:
			started = nil
			begun(pid)
		case result := <-r.done:
			select {
			case pid := <-started: // it came first
				begun(pid)
			default:
			}
			return r.result(ctx, result)
		case <-r.process.gone:
			return 0, errTerminated
		case <-ctx.Done():
			return r.cancel(ctx)
		}
	}
}

// cancel makes the program end the command. It gives up a program that does not do so in time.
func (r *remoteCommand) cancel(ctx context.Context) (int, error) {
	table := r.process.table
	grace := table.graceFor(ctx)
	if r.process.send(frameCancel, r.number, encodeNumber(grace.Milliseconds())) != nil {
		return 0, context.Cause(ctx)
	}
	select {
	case result := <-r.done:
		return r.result(ctx, result)
	case <-r.process.gone:
	case <-time.After(2*grace + 2*table.replyTimeout()):
		r.process.disconnect()
		<-r.process.gone
	}
	return 0, context.Cause(ctx)
}

// result returns a result as run does.
func (r *remoteCommand) result(ctx context.Context, result runResult) (int, error) {
	cause := context.Cause(ctx)
	switch result.How {
	case resultExit:
		return result.Code, nil
	case resultUntrusted:
		return 0, &UntrustedError{r.process.shell.name}
	case resultFailed:
		return 0, fmt.Errorf("%s: %s", r.process.at.place(), printable([]byte(result.Text)))
	case resultCanceled:
		if cause != nil {
			return 0, cause
		}
	}
	return 0, &TerminatedError{Code: result.Code}
}

// handle handles a frame of the program for the command.
func (r *remoteCommand) handle(kind frameKind, payload []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.over:
		return errInvalid
	case kind == frameStarted:
		pid, err := number(payload)
		if err != nil || pid > math.MaxInt32 || r.begun {
			return errInvalid
		}
		r.begun = true
		r.started <- int(pid)
	case kind == frameDone:
		var result runResult
		if json.Unmarshal(payload, &result) != nil || result.Code < 0 || result.Code > 255 {
			return errInvalid
		}
		r.over = true
		r.done <- result
	default: // output
		if len(payload) > r.allowed || !r.begun {
			return errInvalid
		}
		r.allowed -= len(payload)
		stream := int(kind - frameStdout)
		r.pending[stream] = append(r.pending[stream], payload...)
		select {
		case r.wakeup <- struct{}{}:
		default: // it is woken already
		}
	}
	return nil
}

// copy passes on the command's output, until stop is closed and all output has been passed on.
func (r *remoteCommand) copy() error {
	for over := false; !over; {
		select {
		case <-r.wakeup:
		case <-r.stop:
			over = true
		}
		if err := r.passOn(); err != nil {
			return err
		}
	}
	return nil
}

func (r *remoteCommand) passOn() error {
	r.mu.Lock()
	pending := r.pending
	r.pending = [2][]byte{}
	n := len(pending[0]) + len(pending[1])
	r.mu.Unlock()
	if n == 0 {
		return nil
	}
	var err error
	for i, w := range []io.Writer{r.out.Out, r.out.Err} {
		if len(pending[i]) > 0 && err == nil {
			_, err = w.Write(pending[i])
		}
	}
	r.mu.Lock()
	r.allowed += n
	r.mu.Unlock()
	r.process.send(frameCredit, r.number, encodeNumber(int64(n)))
	return err
}
