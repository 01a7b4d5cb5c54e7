// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"time"
)

// AwaitLine returns when j has written a line, to either stream, that re matches; a line that
// has no end yet counts, for a prompt has none. The error is ErrEnded when j ended before.
func (j *Job) AwaitLine(ctx context.Context, re *regexp.Regexp) error {
	err := j.Copy(ctx, &Parser{Out: &spotter{re: re}, Err: &spotter{re: re}}, true)
	switch {
	case errors.Is(err, errSpotted):
		return nil
	case err == nil:
		return ErrEnded
	}
	return err
}

var errSpotted = errors.New("the line was written")

// maxLine is how many bytes of a line are looked at.
const maxLine = 4 << 10

// spotter takes text until a line of it matches.
type spotter struct {
	re   *regexp.Regexp
	line []byte // that has no end yet, the beginning of it
}

func (s *spotter) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, rest, ended := bytes.Cut(b, []byte("\n"))
		s.line = append(s.line, line[:min(len(line), maxLine-len(s.line))]...)
		if (ended || len(s.line) > 0) && s.re.Match(bytes.TrimSuffix(s.line, []byte("\r"))) {
			return 0, errSpotted
		}
		if !ended {
			return n, nil
		}
		s.line, b = s.line[:0], rest
	}
}

// looking is how often it is looked whether a port is open.
const looking = 50 * time.Millisecond

// AwaitPort returns when a process of j listens on a TCP port. Nobody else's counts: a port
// that was taken before is not j's, and who asks does not learn what the host listens to. The
// error is ErrEnded when j ended before.
func (j *Job) AwaitPort(ctx context.Context, port uint16) error {
	tick := time.NewTicker(looking)
	defer tick.Stop()
	for {
		info := j.Info()
		if info.PID > 0 && listens(info.ID, info.PID, port) {
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
