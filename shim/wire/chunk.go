// SPDX-License-Identifier: Apache-2.0

package wire

// A relay carries the connections of many calls over one stream, in chunks: the number of
// the call, the chunk's length, both in four bytes, big end first, and so many bytes of
// the call's frames. A chunk without bytes is the end of that call's connection. Whoever
// accepts connections numbers them, from 1 on, each higher than the one before.
//
// Number 0 is the relay's own: its first chunk is a Hello.

const (
	// ChunkLen is the length of what stands before the bytes of a chunk.
	ChunkLen = 8
	// MaxChunk caps the bytes of a chunk.
	MaxChunk = 64 << 10
)

// AppendChunk appends the header of a chunk of n bytes.
func AppendChunk(b []byte, call uint32, n int) []byte {
	return appendUint32(appendUint32(b, call), uint32(n))
}

// ParseChunk takes apart the first ChunkLen bytes of h.
func ParseChunk(h []byte) (call uint32, n int, err error) {
	if len(h) < ChunkLen {
		return 0, 0, ErrMalformed
	}
	if uint32At(h[4:]) > MaxChunk {
		return 0, 0, ErrTooLong
	}
	return uint32At(h), int(uint32At(h[4:])), nil
}

// Hello is what a relay says of itself before anything else.
type Hello struct {
	Socket bool   // it has connected to the host's socket, and hung up
	Nonce  string // what it read in the share: proof that it is the host's
	Failed string // why it cannot carry calls; empty when it does
}

// MaxHello caps a Hello.
const MaxHello = 512

// Append appends h. What is too long is cut.
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
