// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// relayStream is the stream of a relay that sends the bytes of Reader and drops what it receives.
type relayStream struct{ io.Reader }

func (relayStream) Write(p []byte) (int, error) { return len(p), nil }
func (relayStream) Close() error                { return nil }

// callsOf returns the bytes of each call in chunks, in the order in which the calls begin.
func callsOf(text []byte) (all [][]byte) {
	index, over := map[uint32]int{}, map[uint32]bool{}
	var last uint32
	for r := bytes.NewReader(text); ; {
		call, b, err := readChunk(r, make([]byte, wire.MaxChunk))
		if err != nil {
			return all
		}
		i, begun := index[call]
		switch {
		case begun && len(b) == 0:
			over[call] = true
		case begun && !over[call]:
			all[i] = append(all[i], b...)
		case call > last:
			last = call
			if len(b) > 0 {
				index[call] = len(all)
				all = append(all, slices.Clone(b))
			}
		}
	}
}

// FuzzServe checks that no bytes of a relay make Serve panic or wait. Each call arrives, and reads only the bytes of
// its own chunks.
func FuzzServe(f *testing.F) {
	f.Add(slices.Concat(chunk(1, "one"), chunk(2, "two"), chunk(1, " more"), chunk(2, ""), chunk(2, "late"), chunk(1, "")))
	f.Add(slices.Concat(chunk(3, "x"), chunk(1, "old"), chunk(0, "none"), chunk(4, ""), chunk(4, "hung up"), chunk(3, "y")[:7]))
	f.Add([]byte{0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 16<<10 {
			return // it could begin more calls than a relay may carry
		}
		r := New("the nonce")
		var got []*[]byte
		var calls sync.WaitGroup
		// Ends when r is closed.
		calls.Go(func() {
			for {
				c, err := r.Accept()
				if err != nil {
					return
				}
				b := new([]byte)
				got = append(got, b)
				// Ends with the call, or with the stream.
				calls.Go(func() {
					*b, _ = io.ReadAll(c)
					c.Close()
				})
			}
		})
		begin := hello(wire.Hello{Nonce: "the nonce"})
		if err := r.Serve(relayStream{bytes.NewReader(append(begin, text...))}, func(bool) error { return nil }, nil); err == nil {
			t.Error("Serve returned without an error")
		}
		r.Close()
		calls.Wait()
		want := callsOf(text)
		if !slices.EqualFunc(got, want, func(b *[]byte, w []byte) bool { return bytes.Equal(*b, w) }) {
			t.Errorf("%d calls of chunks %q, want %q", len(got), text, want)
			for i, b := range got {
				t.Logf("call %d reads %q", i, *b)
			}
		}
	})
}
