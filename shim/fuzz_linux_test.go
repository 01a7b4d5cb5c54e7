// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"bytes"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// FuzzHost sends any bytes as the frames of a host. The shim ends when they end, without a panic. It writes to its stdout
// only the output that the frames have.
func FuzzHost(f *testing.F) {
	frame := wire.AppendFrame
	started := frame(nil, wire.KindStarted, (&wire.Started{Request: "00ff", FDs: [3]wire.Disposition{wire.Null, wire.Copied, wire.Copied}}).Append(nil))
	f.Add(frame(frame(started, wire.KindStdout, []byte("out")), wire.KindExit, (&wire.Exit{Outcome: wire.Exited, Code: 3}).Append(nil)))
	f.Add(frame(frame(nil, wire.KindNotice, []byte("wait\n")), wire.KindExit, (&wire.Exit{Outcome: wire.Refused, Text: "no\n"}).Append(nil)))
	f.Add(frame(append(frame(nil, wire.KindCapture, nil), started...), wire.KindCredit, wire.AppendCredit(nil, 9)))
	f.Add(frame(append(started, started...), wire.KindExit, (&wire.Exit{Outcome: wire.Signaled, Signal: "TERM", Code: 143}).Append(nil)))
	f.Fuzz(func(t *testing.T, text []byte) {
		var want bytes.Buffer
		fallback := false
		for r := bytes.NewReader(text); ; {
			kind, payload, err := wire.ReadFrame(r, make([]byte, wire.MaxFrame))
			if err != nil {
				break
			}
			if kind == wire.KindStopped {
				return // as ^Z, which stops this process
			}
			if kind == wire.KindStdout {
				want.Write(payload)
			}
			fallback = fallback || kind == wire.KindFallback
		}
		s := newFakeHost(t)
		c, out := s.command("make"), &bytes.Buffer{}
		c.Stdout, c.Stderr = out, &c.stderr
		c.start()
		p := s.accept()
		for _, file := range p.fds {
			file.Close()
		}
		p.Write(text) // fails if the shim ends first
		p.CloseWrite()
		io.Copy(io.Discard, p)
		if ws := c.status(); ws.Signal() == syscall.SIGKILL && !bytes.Contains(text, []byte("KILL")) || strings.Contains(c.stderr.String(), "goroutine ") {
			t.Errorf("%q: %v, stderr %q", text, ws, &c.stderr)
		}
		if !fallback && !bytes.HasPrefix(want.Bytes(), out.Bytes()) {
			t.Errorf("%q: stdout %q, want the beginning of %q", text, out, &want)
		}
	})
}
