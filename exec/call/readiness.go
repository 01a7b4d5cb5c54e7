// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

var errNotReady = errors.New("it was not ready in time")

// await returns when the job is ready. The error is job.ErrEnded or errNotReady if it will not be, or means
// that the caller has gone.
func (r *Readiness) await(ctx context.Context, j *job.Job) error {
	if r.none() {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, errNotReady)
	defer cancel()
	if r.Line != nil {
		if err := j.AwaitLine(ctx, r.Line); err != nil {
			return err
		}
	}
	if r.Port != 0 {
		return j.AwaitPort(ctx, r.Port)
	}
	return nil
}

// answerNotReady answers the caller of a job that did not become ready. It ends the job, and shows its last
// output.
func (x *exchange) answerNotReady(ctx context.Context, j *job.Job, r Readiness, why error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("request %s: %w", x.req.ID, context.Cause(ctx))
	}
	if !errors.Is(why, job.ErrEnded) {
		x.server.Kill(x.req.ID)
	}
	select {
	case <-j.Done():
	case <-ctx.Done():
		return fmt.Errorf("request %s: %w", x.req.ID, context.Cause(ctx))
	}
	if err := x.begin(); err != nil {
		return err
	}
	if _, err := x.peer.writer(wire.KindStderr).Write(tail(ctx, j)); err != nil {
		return err
	}
	name := quoteWord(x.req.Args[0])
	switch {
	case errors.Is(why, errNotReady):
		return x.peer.end(Failure{Status: StatusTimeout, Name: name, Request: x.req.ID, Reason: fmt.Sprintf("not ready within %s, and ended", r.Timeout)})
	case errors.Is(why, job.ErrEnded):
		info := j.Info()
		code := info.Code
		if code == 0 {
			code = 1 // it could not do its work
		}
		return x.peer.exit(wire.Exit{Outcome: wire.Exited, Code: byte(code),
			Text: MessageLine("%s: it ended before it was ready: %s (request %s)", name, describeEnd(info), x.req.ID)})
	}
	return fail(x.peer, why, "wait for the job: "+names.Printable(why.Error()))
}

// describeEnd returns in a few words how a job ended.
func describeEnd(info job.Info) string {
	text := fmt.Sprintf("exit code %d", info.Code)
	if info.Signal != "" {
		text = "signal " + info.Signal
	}
	if info.Reason != "" {
		text += ", " + info.Reason
	}
	return text
}

// maxTail is the number of bytes of a job's last output that are shown.
const maxTail = 4 << 10

// tail returns the last lines that a job wrote, to either stream.
func tail(ctx context.Context, j *job.Job) []byte {
	var last lastBytes
	if err := j.Copy(ctx, &job.Parser{Out: &last, Err: &last}, false); err != nil {
		return nil
	}
	b := last.bytes
	if last.truncated {
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	if len(b) > 0 && b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	return b
}

// lastBytes keeps the last bytes that are written to it.
type lastBytes struct {
	bytes     []byte
	truncated bool // there was more
}

func (e *lastBytes) Write(b []byte) (int, error) {
	e.bytes = append(e.bytes, b...)
	if over := len(e.bytes) - maxTail; over > 0 {
		e.bytes, e.truncated = append(e.bytes[:0], e.bytes[over:]...), true
	}
	return len(b), nil
}
