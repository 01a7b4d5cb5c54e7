// SPDX-License-Identifier: Apache-2.0

package wire

import "io"

// HeaderLen is the length of a frame's header: the kind, and the payload's length in four bytes, big
// endian.
const HeaderLen = 5

// AppendHeader appends the header of a frame of kind k with a payload of n bytes.
func AppendHeader(b []byte, k Kind, n int) []byte {
	return appendUint32(append(b, byte(k)), uint32(n))
}

// AppendFrame appends a complete frame. It is not inlined, because each copy makes the shim larger.
//
//go:noinline
func AppendFrame(b []byte, k Kind, payload []byte) []byte {
	return append(AppendHeader(b, k, len(payload)), payload...)
}

// ParseHeader parses the header in the first HeaderLen bytes of h. It returns ErrKind for an unknown kind,
// and ErrTooLong for a length above the limit of the kind.
func ParseHeader(h []byte) (Kind, int, error) {
	if len(h) < HeaderLen {
		return 0, 0, ErrMalformed
	}
	k, n := Kind(h[0]), uint32At(h[1:])
	if k < KindExec || k > KindFallback {
		return 0, 0, ErrKind
	}
	if n > uint32(limits[k]) {
		return 0, 0, ErrTooLong
	}
	return k, int(n), nil
}

// ReadFrame reads one frame. The payload is in buf if it fits there, else in new memory. If r ends between
// two frames, the error is io.EOF; within a frame, it is io.ErrUnexpectedEOF.
func ReadFrame(r io.Reader, buf []byte) (Kind, []byte, error) {
	var h [HeaderLen]byte
	head := h[:]
	if cap(buf) >= HeaderLen {
		head = buf[:HeaderLen] // h would escape to the heap through r
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, err
	}
	k, n, err := ParseHeader(head)
	if err != nil {
		return 0, nil, err
	}
	if n > cap(buf) {
		buf = make([]byte, n)
	}
	if _, err := io.ReadFull(r, buf[:n]); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return k, buf[:n], nil
}

// appendUint32 appends n in big endian order. It is not inlined, because each copy makes the shim larger.
//
//go:noinline
func appendUint32(b []byte, n uint32) []byte {
	return append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func uint32At[T string | []byte](b T) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}
