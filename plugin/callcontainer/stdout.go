// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"encoding/binary"
	"errors"
	"io"
)

// stdout reads the stdout of a program from the stream in which the engine combines its outputs (API, "Stream format").
// Each part of the stream has a header with origin and length. Parts of stderr are dropped; an error message of the
// engine ends the stream with an error. Unlike stdcopy of the engine's client, it allocates no memory by a length that
// was read: the container's side is not trusted.
type stdout struct {
	r    io.Reader
	left uint32 // of the part that is being read
	skip bool   // it is not stdout
}

const (
	partStdout = 1
	partFailed = 3 // an error message of the engine
)

var errEngine = errors.New("the engine has reported an error of the exec")

func (s *stdout) Read(p []byte) (int, error) {
	for {
		if s.left == 0 {
			if err := s.next(); err != nil {
				return 0, err
			}
			continue
		}
		if s.skip {
			n, err := io.CopyN(io.Discard, s.r, int64(s.left))
			s.left -= uint32(n)
			if err != nil {
				return 0, err
			}
			continue
		}
		n, err := s.r.Read(p[:min(uint64(len(p)), uint64(s.left))])
		s.left -= uint32(n)
		if n > 0 || len(p) == 0 {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// next reads the header of a part.
func (s *stdout) next() error {
	var h [8]byte
	if _, err := io.ReadFull(s.r, h[:]); err != nil {
		return err
	}
	if h[0] == partFailed {
		return errEngine
	}
	s.skip, s.left = h[0] != partStdout, binary.BigEndian.Uint32(h[4:])
	return nil
}
