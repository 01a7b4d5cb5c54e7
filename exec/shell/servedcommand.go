// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/docker-hostexec/hostexec/exec/limit"
)

// servedCommand is a command that runs for the host.
type servedCommand struct {
	server *server
	number uint32
	cancel context.CancelCauseFunc
	credit *limit.Credit // bytes of output that may be sent
}

// run starts a command.
func (s *server) run(number uint32, payload []byte) error {
	var request runRequest
	if err := json.Unmarshal(payload, &request); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &servedCommand{server: s, number: number, cancel: cancel, credit: limit.NewCredit(outputAhead)}
	s.mu.Lock()
	s.commands[number] = c
	s.mu.Unlock()
	// Ends with the command, which the host cancels, or the table's Close.
	s.running.Go(func() {
		defer cancel(nil)
		result := c.run(ctx, request)
		s.reportState()
		s.mu.Lock()
		delete(s.commands, number)
		s.mu.Unlock()
		s.send(frameDone, number, encoded(result))
	})
	return nil
}

// run runs the command to its end.
func (c *servedCommand) run(ctx context.Context, request runRequest) runResult {
	s := c.server
	b := StartConfig{Path: s.bash, Env: environ(os.Environ(), stringsOf(request.Base)), NewPrivs: true, ByHost: request.ByHost}
	command := Command{ID: string(request.ID), Text: string(request.Text), Dir: string(request.Dir), Env: stringsOf(request.Env), Copy: request.Start}
	code, err := s.shell.Run(ctx, b, command, Output{Out: output{c, frameStdout}, Err: output{c, frameStderr}, Started: c.started, Ending: c.credit.Expire})
	return c.result(ctx, code, err)
}

func (c *servedCommand) started(_ string, pid int) {
	c.server.reportState()
	c.server.send(frameStarted, c.number, encodeNumber(int64(pid)))
}

func (c *servedCommand) result(ctx context.Context, code int, err error) runResult {
	var dead *TerminatedError
	var untrusted *UntrustedError
	switch {
	case err == nil:
		return runResult{How: resultExit, Code: code}
	case errors.As(err, &dead):
		return runResult{How: resultTerminated, Code: dead.Code}
	case errors.As(err, &untrusted):
		return runResult{How: resultUntrusted}
	case context.Cause(ctx) != nil:
		return runResult{How: resultCanceled}
	}
	text := err.Error()
	return runResult{How: resultFailed, Text: text[:min(len(text), 1024)]}
}

var errStalled = errors.New("the host takes no more output")

// output is the stdout or stderr of a command.
type output struct {
	command *servedCommand
	kind    frameKind
}

// Write implements io.Writer. It waits until the host takes the data.
func (o output) Write(b []byte) (written int, err error) {
	for written < len(b) {
		n, ok := o.command.credit.Take(min(len(b)-written, maxOutput))
		if !ok {
			return written, errStalled
		}
		o.command.server.send(o.kind, o.command.number, b[written:written+n])
		written += n
	}
	return written, nil
}
