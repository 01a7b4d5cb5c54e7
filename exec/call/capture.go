// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// maxExcerpt is the number of bytes of a captured stdin that a person is shown.
const maxExcerpt = 2 << 10

// capture reads the caller's whole stdin before the command runs, if the verdict demands it. The command
// then reads exactly these bytes.
func (x *exchange) capture(ctx context.Context, dc *decidedCall) error {
	if dc.v.Streams.Whole || dc.v.Streams.Stdin.Mode != policy.StdinCapture {
		return nil
	}
	if x.req.captured == nil {
		b, err := x.peer.captured(ctx, x.req, dc.v.Streams.Stdin.Limit)
		if err != nil {
			return err
		}
		x.req.captured = b
		if x.server.now().Policy != dc.config.Policy { // the caller decides how late its stdin ends
			return errRedecide
		}
	}
	if n, most := len(x.req.captured), dc.v.Streams.Stdin.Limit; int64(n) > most {
		return tooMuchInput(most)
	}
	sum := sha256.Sum256(x.req.captured)
	dc.notes = append(dc.notes, fmt.Sprintf("stdin is %d bytes, sha256 %s: %s",
		len(x.req.captured), hex.EncodeToString(sum[:]), excerpt(x.req.captured)))
	return nil
}

func tooMuchInput(most int64) error { return fmt.Errorf("stdin has more than %d bytes", most) }

// excerpt returns the beginning of b, quoted, and marks that it was cut.
func excerpt(b []byte) string {
	if len(b) <= maxExcerpt {
		return strconv.QuoteToASCII(string(b))
	}
	return strconv.QuoteToASCII(string(b[:maxExcerpt])) + "..."
}

// captured makes the shim send its stdin, and returns it; never nil. A terminal is not read, because its user
// does not expect to be asked for input.
func (p *peer) captured(ctx context.Context, req *request, most int64) ([]byte, error) {
	none := req.fds[0] == wire.FDNull || req.fds[0] == wire.FDTTY
	req.drop(0)
	if none {
		return []byte{}, nil
	}
	if err := p.send(wire.KindCapture, nil); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { p.in.Close() })()
	b := countedBuffer{req: req}
	n, err := io.Copy(&b, io.LimitReader(p.in, most+1))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case n > most:
		return nil, tooMuchInput(most)
	}
	return append([]byte{}, b.Bytes()...), nil
}

// countedBuffer is a buffer whose bytes count towards the session's limit for arguments.
type countedBuffer struct {
	b   bytes.Buffer
	req *request
}

func (c *countedBuffer) Bytes() []byte { return c.b.Bytes() }

func (c *countedBuffer) Write(p []byte) (int, error) {
	if err := c.req.holding.take(limit.Argv, int64(len(p))); err != nil {
		return 0, err
	}
	return c.b.Write(p)
}
