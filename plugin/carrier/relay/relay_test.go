// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// fakeRelay is the relay's end of a stream. It can send anything.
type fakeRelay struct {
	net.Conn
	t *testing.T
}

func chunk(call uint32, text string) []byte {
	return append(wire.AppendChunk(nil, call, len(text)), text...)
}

func hello(h wire.Hello) []byte { return chunk(0, string(h.Append(nil))) }

// send sends b as the relay.
func (f fakeRelay) send(b []byte) {
	f.t.Helper()
	if _, err := f.Write(b); err != nil {
		f.t.Error(err)
	}
}

// expect checks that the host sends text to a call. An empty text is the end of the call.
func (f fakeRelay) expect(call uint32, text string) {
	f.t.Helper()
	got, b, err := readChunk(f, make([]byte, wire.MaxChunk))
	if err != nil || got != call || string(b) != text {
		f.t.Errorf("the host says %q to call %d (%v), want %q to %d", b, got, err, text, call)
	}
}

// served returns a Relay that serves a stream, the other end, and the error at the end of the stream.
func served(t *testing.T) (*Listener, fakeRelay, <-chan error) {
	t.Helper()
	return servedOf(t, nil)
}

// servedOf is served for a relay whose process ends when exited returns true.
func servedOf(t *testing.T, exited func() bool) (*Listener, fakeRelay, <-chan error) {
	t.Helper()
	host, other := net.Pipe()
	r := New("the nonce")
	ended := make(chan error, 1)
	// ends with the stream, which the cleanup closes.
	go func() { ended <- r.Serve(host, func(bool) error { return nil }, exited) }()
	t.Cleanup(func() { r.Close(); other.Close() })
	return r, fakeRelay{other, t}, ended
}

func accepted(t *testing.T, r *Listener) net.Conn {
	t.Helper()
	c, err := r.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func reads(t *testing.T, c net.Conn, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != want {
		t.Errorf("read %q, %v, want %q", b, err, want)
	}
}

func TestRelayCarriesCalls(t *testing.T) {
	r, f, _ := served(t)
	f.send(hello(wire.Hello{Nonce: "the nonce"}))
	f.send(chunk(1, "one"))
	one := accepted(t, r)
	f.send(chunk(2, "two"))
	two := accepted(t, r)
	reads(t, two, "two")
	f.send(append(chunk(1, " more"), chunk(1, "")...))
	reads(t, one, "one more")
	if n, err := one.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after its end: %d, %v, want EOF", n, err)
	}
	two.Write([]byte("answer"))
	f.expect(2, "answer")
	two.Write([]byte("last words"))
	two.Close()
	f.expect(2, "last words")
	f.expect(2, "")
	if _, err := two.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write to a closed call: %v", err)
	}
	f.send(chunk(2, "nobody hears this"))
	long := strings.Repeat("x", wire.MaxChunk+1)
	// ends when both parts of it are heard.
	go one.Write([]byte(long))
	f.expect(1, long[:wire.MaxChunk])
	f.expect(1, "x")
}

// A call that is not read from keeps no other from its answer, nor from its end.
//
// Attack 167.
func TestRelayStalledCall(t *testing.T) {
	r, f, ended := served(t)
	f.send(hello(wire.Hello{Nonce: "the nonce"}))
	f.send(chunk(1, "a"))
	stalled := accepted(t, r)
	f.send(chunk(2, "b"))
	other := accepted(t, r)
	// ends when the stream does: nobody reads what it writes.
	full := make(chan error, 1)
	go func() { _, err := stalled.Write(make([]byte, 2*maxQueued)); full <- err }()
	stalled.Close()
	if err := <-full; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write that waits in a call that is closed: %v", err)
	}
	other.Close()
	f.Close()
	if err := <-ended; err == nil {
		t.Error("the stream's end is no error")
	}
}

// TestRelayDeaf checks a relay that reads nothing: no call waits after its end, and no call that does not read delays
// others.
//
// Attack 166.
func TestRelayDeaf(t *testing.T) {
	r, f, ended := served(t)
	f.send(hello(wire.Hello{Nonce: "the nonce"}))
	f.send(chunk(1, "x"))
	c := accepted(t, r)
	full := make(chan error, 1)
	// ends when the stream does: nobody reads what it writes.
	go func() { _, err := c.Write(make([]byte, 2*maxQueued)); full <- err }()
	for range maxUnread/wire.MaxChunk + 1 {
		f.send(chunk(1, strings.Repeat("x", wire.MaxChunk)))
	}
	f.Close()
	if err := <-full; !errors.Is(err, net.ErrClosed) {
		t.Errorf("write: %v, want %v", err, net.ErrClosed)
	}
	if err := <-ended; err == nil {
		t.Error("the stream's end is no error")
	}
}

// What comes after a call's end, of which there may be any amount, is not kept.
//
// Attack 166.
func TestRelayAfterEnd(t *testing.T) {
	r, f, _ := served(t)
	f.send(hello(wire.Hello{Nonce: "the nonce"}))
	f.send(chunk(1, "x"))
	c := accepted(t, r)
	f.send(chunk(1, ""))
	for range 2 * maxUnread / wire.MaxChunk {
		f.send(chunk(1, strings.Repeat("y", wire.MaxChunk)))
	}
	if b, err := io.ReadAll(c); string(b) != "x" || err != nil {
		t.Errorf("%d bytes, %v, want those before the end", len(b), err)
	}
}

// A relay that reads nothing has the host keep no more for it, however many calls it makes.
//
// Attack 166.
func TestRelayDeafFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f, ended := served(t)
		f.send(hello(wire.Hello{Nonce: "the nonce"}))
		const all = maxQueued // each call has an end of some bytes
		var said atomic.Uint32
		// end when the stream and the listener do.
		go func() {
			for i := range uint32(all) {
				if _, err := f.Write(append(chunk(i+1, "x"), chunk(i+1, "")...)); err != nil {
					return
				}
				said.Store(i + 1)
			}
		}()
		go func() {
			for c, err := r.Accept(); err == nil; c, err = r.Accept() {
				c.Close()
			}
		}()
		synctest.Wait()
		if n := said.Load(); n > 2*maxQueued/wire.ChunkHeaderLen {
			t.Errorf("%d calls were taken, each with an end that is kept", n)
		}
		f.Close()
		<-ended
		r.Close()
	})
}

// TestRelayExited has a relay make calls, read no answers, and end while the engine keeps the
// stream open. The host asks the engine whether the relay has ended, and ends all its calls.
//
// Attack 217.
func TestRelayExited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		var looks atomic.Int32
		r, f, ended := servedOf(t, func() bool { looks.Add(1); return gone.Load() })
		f.send(hello(wire.Hello{Nonce: "the nonce"}))
		f.send(chunk(1, "x"))
		c := accepted(t, r)
		full := make(chan error, 1)
		// ends when the stream does: nobody reads what it writes.
		go func() { _, err := c.Write(make([]byte, 2*maxQueued)); full <- err }()
		// ends when the stream does: nobody waits for this call.
		go func() { f.Write(chunk(2, "y")) }()
		time.Sleep(10 * checkInterval)
		if n := looks.Load(); n < 5 || n > 10 {
			t.Errorf("it was looked for %d times in ten seconds", n)
		}
		gone.Store(true)
		if err := <-full; !errors.Is(err, net.ErrClosed) {
			t.Errorf("write: %v, want %v", err, net.ErrClosed)
		}
		if err := <-ended; err == nil {
			t.Error("its end is no error")
		}
		f.Close()
		r.Close()
	})
}

// Attack 165.
func TestRelayRefuses(t *testing.T) {
	good := hello(wire.Hello{Nonce: "the nonce"})
	long := wire.AppendChunk(nil, 1, wire.MaxChunk+1)
	tests := []struct {
		name string
		says []byte
		want string
	}{
		{"nothing", nil, "read the first message"},
		{"another program's output", []byte("Permission denied, and so on\n"), "read the first message"},
		{"a chunk that is too long", long, "read the first message"},
		{"an empty hello", chunk(0, ""), "malformed"},
		{"a hello of some call", chunk(3, string(good[wire.ChunkHeaderLen:])), "malformed"},
		{"another version", chunk(0, "\x09\x00\x00"), "version"},
		{"another share", hello(wire.Hello{Nonce: "of another"}), "another session"},
		{"that it failed", hello(wire.Hello{Nonce: "the nonce", Failed: "no \x1b[31mplace"}), `no \x1b[31mplace`},
		{"a chunk that is too long, later", append(bytes.Clone(good), long...), "too long"},
		{"half a chunk", append(bytes.Clone(good), chunk(1, "half")[:10]...), "unexpected EOF"},
		{"good-bye", good, "the relay has ended"},
	}
	for _, tt := range tests {
		_, f, ended := served(t)
		// ends when Serve has closed the stream, if not before.
		go func() { f.Write(tt.says); f.Close() }()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Attack 165.
func TestRelayTooManyCalls(t *testing.T) {
	r, f, ended := served(t)
	f.send(hello(wire.Hello{Nonce: "the nonce"}))
	for i := range uint32(maxCalls) {
		f.send(chunk(i+1, "x"))
		accepted(t, r)
	}
	f.send(chunk(maxCalls+1, "x"))
	if err := <-ended; !errors.Is(err, errTooMany) {
		t.Errorf("one call too many: %v, want %v", err, errTooMany)
	}
}

func TestRelayDeadline(t *testing.T) {
	r, f, _ := served(t)
	f.send(hello(wire.Hello{Nonce: "the nonce"}))
	f.send(chunk(1, "x"))
	c := accepted(t, r)
	reads(t, c, "x")
	c.SetReadDeadline(time.Unix(1, 0))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read past the deadline: %v", err)
	}
	c.SetReadDeadline(time.Time{})
	f.send(chunk(1, "y"))
	reads(t, c, "y")
}

func TestRelayStreamEnds(t *testing.T) {
	r, f, ended := served(t)
	f.send(hello(wire.Hello{Nonce: "the nonce"}))
	f.send(chunk(1, "x"))
	c := accepted(t, r)
	f.Close()
	<-ended
	reads(t, c, "x")
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("read: %v, want EOF", err)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write: %v", err)
	}
	r.Close()
	if _, err := r.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept: %v", err)
	}
}
