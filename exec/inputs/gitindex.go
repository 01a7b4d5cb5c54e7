// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
)

// Sizes in an index with SHA-1 (gitformat-index(5)).
const (
	indexHeader  = 12
	indexSum     = 20
	entryMode    = 24 // where the mode of an entry is
	entryHash    = 40
	entryFlags   = 60
	entryName    = 62 // without extended flags
	extendedFlag = 0x4000
	gitlinkMode  = 0o160000
	maxName      = 4096 // PATH_MAX. In version 4, each name can be longer than the one before, and needs three bytes.
)

var errIndex = errors.New("it is not an index of a version that is known")

// parseGitlinks returns the gitlinks of an index as lines: the commit, the stage, and the path, quoted if necessary. An
// index that another file belongs to is an error.
func parseGitlinks(index []byte) ([]byte, error) {
	if len(index) < indexHeader+indexSum || string(index[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	if version < 2 || version > 4 {
		return nil, errIndex
	}
	in := indexReader{version: version, rest: index[indexHeader : len(index)-indexSum]}
	var list bytes.Buffer
	for range count {
		e, err := in.entry()
		if err != nil {
			return nil, err
		}
		if binary.BigEndian.Uint32(e[entryMode:]) == gitlinkMode {
			stage := binary.BigEndian.Uint16(e[entryFlags:]) >> 12 & 3
			name := string(in.name)
			if !printable(name) {
				name = strconv.QuoteToASCII(name)
			}
			fmt.Fprintf(&list, "%x %d %s\n", e[entryHash:entryFlags], stage, name)
			if list.Len() > maxBytes {
				return nil, errBytes
			}
		}
	}
	return list.Bytes(), in.extensions()
}

// indexReader reads the entries of an index, one after the other.
type indexReader struct {
	version uint32
	rest    []byte
	name    []byte // of the last entry
}

// entry returns the fixed part of the next entry, and sets name.
func (in *indexReader) entry() ([]byte, error) {
	at := entryName
	if len(in.rest) < at {
		return nil, errIndex
	}
	if in.version >= 3 && binary.BigEndian.Uint16(in.rest[entryFlags:])&extendedFlag != 0 {
		at += 2
	}
	if len(in.rest) < at {
		return nil, errIndex
	}
	e, shared := in.rest, 0
	if in.version == 4 {
		strip, n := stripLength(in.rest[at:])
		if n == 0 || strip > len(in.name) {
			return nil, errIndex
		}
		at, shared = at+n, len(in.name)-strip
	}
	end := bytes.IndexByte(in.rest[at:], 0)
	if end < 0 {
		return nil, errIndex
	}
	if shared+end > maxName {
		return nil, errIndex
	}
	in.name = append(in.name[:shared:shared], in.rest[at:at+end]...)
	size := at + end + 1
	if in.version < 4 {
		size = (size + 7) / 8 * 8
	}
	if size > len(in.rest) {
		return nil, errIndex
	}
	in.rest = in.rest[size:]
	return e, nil
}

// stripLength parses the number of bytes to remove from the end of the previous name. n is the number of bytes parsed,
// or 0 if they are not valid.
func stripLength(b []byte) (length, n int) {
	for i, c := range b[:min(len(b), 4)] {
		if i > 0 {
			length++
		}
		length = length<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return length, i + 1
		}
	}
	return 0, 0
}

// extensions checks that what follows the entries does not name another file or leave out entries: git has lower-case
// names for such extensions.
func (in *indexReader) extensions() error {
	for len(in.rest) > 0 {
		if len(in.rest) < 8 {
			return errIndex
		}
		size := binary.BigEndian.Uint32(in.rest[4:])
		switch {
		case in.rest[0] < 'A' || in.rest[0] > 'Z':
			return errors.New("it is split or sparse")
		case uint64(size) > uint64(len(in.rest)-8):
			return errIndex
		}
		in.rest = in.rest[8+size:]
	}
	return nil
}
