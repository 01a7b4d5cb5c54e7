// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestFallback checks that a caller of JSON gets an object on stdout when the host goes away before the end.
func TestFallback(t *testing.T) {
	const begin = `{"command":"a","stdout":""`
	for _, tt := range []struct {
		name string
		run  func(t *testing.T) (c *shim, out *bytes.Buffer)
		code int
	}{
		{"by the socket", func(t *testing.T) (*shim, *bytes.Buffer) { return bySocket(t, begin, true) }, wire.CodeFailed},
		{"by the socket, over time", func(t *testing.T) (*shim, *bytes.Buffer) {
			return bySocket(t, begin, false, "HOSTEXEC_TIMEOUT=100ms")
		}, wire.CodeTimeout},
		{"by files", func(t *testing.T) (*shim, *bytes.Buffer) {
			c, out, _ := byFiles(t, func(base string) error {
				wakeup, err := os.OpenFile(base+".bell", os.O_WRONLY, 0)
				for _, f := range [...][2]string{{".fallback", begin}, {".stderr", ""}, {".stdout", ""}} {
					err = errors.Join(err, os.WriteFile(base+f[0], []byte(f[1]), 0o600))
				}
				if err != nil {
					return err
				}
				_, err = wakeup.Write([]byte{0})
				return errors.Join(err, waitFor(base+".alive"), wakeup.Close())
			})
			return c, out
		}, wire.CodeFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, out := tt.run(t)
			c.wantExit(tt.code)
			var got struct {
				Command, Stdout *string
				Code            int    `json:"exit_code"`
				Error           string `json:"error"`
			}
			if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Command == nil || got.Stdout == nil {
				t.Fatalf("stdout %q: %v", out, err)
			}
			if got.Code != tt.code || got.Error == "" || !strings.Contains(c.stderr.String(), "hostexec: "+got.Error+"\n") {
				t.Errorf("stdout %q, stderr %q, want code %d in it, and the same reason", out, &c.stderr, tt.code)
			}
		})
	}
}

// bySocket runs a shim whose host sends a fallback, and then closes the connection or stays silent.
func bySocket(t *testing.T, begin string, closes bool, env ...string) (c *shim, out *bytes.Buffer) {
	t.Helper()
	s := newFakeHost(t)
	c, out = s.command("hostexec"), &bytes.Buffer{}
	c.Stdout, c.Stderr = out, &c.stderr
	c.Env = append(c.Env, env...)
	c.start()
	p := s.accept()
	for _, f := range p.fds {
		f.Close()
	}
	p.started(wire.Null, wire.Copied, wire.Copied)
	p.send(wire.KindFallback, []byte(begin))
	if closes {
		p.Close()
	}
	return c, out
}
