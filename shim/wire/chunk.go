// SPDX-License-Identifier: Apache-2.0

package wire

// A relay carries the connections of many calls over one stream, in chunks. A chunk consists of the call's
// number and the chunk's length, both in four bytes, big endian, and that many bytes of the call's frames.
// A chunk without bytes ends the call's connection. The side that accepts connections numbers them from 1,
// in increasing order.
//
// Number 0 is used by the relay itself: its first chunk is a Hello.

const (
	// ChunkHeaderLen is the length of a chunk's header.
	ChunkHeaderLen = 8
	// MaxChunk is the maximum number of bytes in a chunk.
	MaxChunk = 64 << 10
)

// AppendChunk appends the header of a chunk of n bytes.
func AppendChunk(b []byte, call uint32, n int) []byte {
	return appendUint32(appendUint32(b, call), uint32(n))
}

// ParseChunk parses the header in the first ChunkHeaderLen bytes of h.
func ParseChunk(h []byte) (call uint32, n int, err error) {
	if len(h) < ChunkHeaderLen {
		return 0, 0, ErrMalformed
	}
	if uint32At(h[4:]) > MaxChunk {
		return 0, 0, ErrTooLong
	}
	return uint32At(h), int(uint32At(h[4:])), nil
}

// Hello is the first message of a relay.
type Hello struct {
	Socket bool   // a connection to the host's socket succeeded
	Nonce  string // read from the share: proves that the relay is the host's
	Failed string // why it cannot carry calls; empty if it can
}

// MaxHello is the maximum length of a Hello.
const MaxHello = 512

// Append appends h. It cuts texts that are too long.
func (h *Hello) Append(b []byte) []byte {
	nonce := h.Nonce[:min(len(h.Nonce), MaxHello/2)]
	b = append(b, Version, 0)
	if h.Socket {
		b[len(b)-1] = 1
	}
	b = append(append(b, nonce...), 0)
	return append(b, h.Failed[:min(len(h.Failed), MaxHello-3-len(nonce))]...)
}

// ParseHello is the inverse of Append.
func ParseHello(p []byte) (Hello, error) {
	if len(p) > 0 && p[0] != Version {
		return Hello{}, ErrVersion
	}
	if len(p) < 3 || len(p) > MaxHello || p[1] > 1 {
		return Hello{}, ErrMalformed
	}
	rest := string(p[2:])
	for i := range min(len(rest), MaxHello/2+1) {
		if rest[i] == 0 {
			return Hello{Socket: p[1] == 1, Nonce: rest[:i], Failed: rest[i+1:]}, nil
		}
	}
	return Hello{}, ErrMalformed
}
