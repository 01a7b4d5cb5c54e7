// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// looking is how often at most it is looked whether a job is ready.
const looking = 50 * time.Millisecond

// AwaitLine returns when j has written a line, to either stream, that re matches; a line that
// has no end yet counts, for a prompt has none. The error is ErrEnded when j ended before.
func (j *Job) AwaitLine(ctx context.Context, re *regexp.Regexp) error {
	f, err := os.Open(filepath.Join(j.dir, combinedFile))
	if err != nil {
		return err
	}
	defer f.Close()
	match := func(line []byte) bool { return j.table.inTurn(ctx, func() bool { return re.Match(line) }) }
	out, errs := &spotter{match: match}, &spotter{match: match}
	p := &Parser{Out: out, Err: errs}
	for {
		more := j.more()
		switch _, err := io.Copy(p, f); {
		case errors.Is(err, errSpotted), err == nil && (out.unended() || errs.unended()):
			return nil
		case err != nil:
			return err
		case more == nil:
			return ErrEnded
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		j.gather(ctx)
	}
}

// gather waits a moment for what else is written: what comes byte by byte is not to be
// matched byte by byte.
func (j *Job) gather(ctx context.Context) {
	timer := time.NewTimer(looking)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-j.done:
	case <-ctx.Done():
	}
}

// inTurn reports what look finds, and false when ctx is done. Some patterns take long, so
// does a long list of sockets, and a container may have a thousand jobs waited for: there is
// one look at a time in a session.
func (t *Table) inTurn(ctx context.Context, look func() bool) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
		return look()
	case <-ctx.Done():
		return false
	}
}

var errSpotted = errors.New("the line was written")

// maxLine is how many bytes of a line are looked at.
const maxLine = 4 << 10

// spotter takes text until a line of it matches.
type spotter struct {
	match func(line []byte) bool
	line  []byte // that has no end yet, the beginning of it
	grown bool   // since it was looked at
}

func (s *spotter) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, rest, ended := bytes.Cut(b, []byte("\n"))
		more := line[:min(len(line), maxLine-len(s.line))]
		s.line, s.grown = append(s.line, more...), s.grown || len(more) > 0
		if !ended {
			return n, nil
		}
		if s.match(bytes.TrimSuffix(s.line, []byte("\r"))) {
			return 0, errSpotted
		}
		s.line, s.grown, b = s.line[:0], false, rest
	}
}

// unended reports whether the line that has no end yet matches.
func (s *spotter) unended() bool {
	if !s.grown {
		return false
	}
	s.grown = false
	return s.match(bytes.TrimSuffix(s.line, []byte("\r")))
}

// AwaitPort returns when a process of j listens on a TCP port. Nobody else's counts: a port
// that was taken before is not j's, and who asks does not learn what the host listens to. The
// error is ErrEnded when j ended before.
func (j *Job) AwaitPort(ctx context.Context, port uint16) error {
	tick := time.NewTicker(looking)
	defer tick.Stop()
	for {
		info := j.Info()
		if info.PID > 0 && j.table.inTurn(ctx, func() bool { return listens(info.ID, info.PID, port) }) {
			return nil
		}
		select {
		case <-tick.C:
		case <-j.done:
			return ErrEnded
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
