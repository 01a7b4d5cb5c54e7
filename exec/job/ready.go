// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// readyInterval is the minimum interval between two checks whether a job is ready.
const readyInterval = 50 * time.Millisecond

// AwaitLine returns when j has written a line that re matches, to either stream. An incomplete line
// counts too, because a prompt has no line end. The error is ErrEnded if j has ended before.
func (j *Job) AwaitLine(ctx context.Context, re *regexp.Regexp) error {
	f, err := dir.OpenPlain(filepath.Join(j.dir, combinedFile))
	if err != nil {
		return err
	}
	defer f.Close()
	match := func(line []byte) bool { return j.table.serialize(ctx, func() bool { return re.Match(line) }) }
	out, errs := &lineMatcher{match: match}, &lineMatcher{match: match}
	p := &Parser{Out: out, Err: errs}
	for {
		more := j.outputChangedChan()
		switch _, err := io.Copy(p, f); {
		case errors.Is(err, errMatched), err == nil && (out.matchesPartial() || errs.matchesPartial()):
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
		j.debounce(ctx)
	}
}

// debounce waits for more output, so that output that arrives byte by byte is not matched after each
// byte.
func (j *Job) debounce(ctx context.Context) {
	timer := time.NewTimer(readyInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-j.done:
	case <-ctx.Done():
	}
}

// serialize returns the result of check, or false if ctx is done. Only one check runs at a time in a session. A
// container can wait for a thousand jobs, and patterns and socket tables can take long.
func (t *Table) serialize(ctx context.Context, check func() bool) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case t.readySemaphore <- struct{}{}:
		defer func() { <-t.readySemaphore }()
		return check()
	case <-ctx.Done():
		return false
	}
}

var errMatched = errors.New("the line was written")

// maxLine is the maximum number of bytes of a line that are matched.
const maxLine = 4 << 10

// lineMatcher collects text until one of its lines matches.
type lineMatcher struct {
	match   func(line []byte) bool
	line    []byte // the beginning of the incomplete line
	changed bool   // since the last match attempt
}

func (s *lineMatcher) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, rest, ended := bytes.Cut(b, []byte("\n"))
		more := line[:min(len(line), maxLine-len(s.line))]
		s.line, s.changed = append(s.line, more...), s.changed || len(more) > 0
		if !ended {
			return n, nil
		}
		if s.match(bytes.TrimSuffix(s.line, []byte("\r"))) {
			return 0, errMatched
		}
		s.line, s.changed, b = s.line[:0], false, rest
	}
}

// matchesPartial reports whether the incomplete line matches.
func (s *lineMatcher) matchesPartial() bool {
	if !s.changed {
		return false
	}
	s.changed = false
	return s.match(bytes.TrimSuffix(s.line, []byte("\r")))
}

// AwaitPort returns when a process of j listens on a TCP port. Sockets of other processes do not
// count, so the caller cannot learn which ports the host uses. The error is ErrEnded if j has ended
// before.
func (j *Job) AwaitPort(ctx context.Context, port uint16) error {
	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	for {
		info := j.Info()
		if info.PID > 0 && j.table.serialize(ctx, func() bool { return listens(info.ID, info.PID, port) }) {
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
