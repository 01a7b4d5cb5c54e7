// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"errors"
	"fmt"
	"io"
	"strconv"
)

// A pkt-line is four hex digits, which are the length of the line with themselves, and the line
// (gitprotocol-common(5)). A length of 0 is a flush packet.

const (
	pktHeader = 4
	// maxPkt is the maximum length of a pkt-line with its header.
	maxPkt = 65520
	// maxCommandBytes limits the commands of one push, with the list of shallow commits.
	maxCommandBytes = 1 << 20
)

var errPkt = errors.New("not the protocol of git push")

// readPkt reads one pkt-line and nothing after it. For a flush packet it returns nil.
func readPkt(in io.Reader) ([]byte, error) {
	var head [pktHeader]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(string(head[:]), 16, 16)
	switch {
	case err != nil, n > 0 && n <= pktHeader, n > maxPkt:
		return nil, errPkt
	case n == 0:
		return nil, nil
	}
	line := make([]byte, n-pktHeader)
	if _, err := io.ReadFull(in, line); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return line, nil
}

func appendPkt(b []byte, format string, args ...any) []byte {
	line := fmt.Sprintf(format, args...)
	return append(fmt.Appendf(b, "%04x", len(line)+pktHeader), line...)
}

const flushPkt = "0000"

// The bands of a side-band (gitprotocol-pack(5)).
const (
	bandData     = 1
	bandProgress = 2
)

// band writes to one band of a side-band.
type band struct {
	out    io.Writer
	number byte
}

func (w band) Write(b []byte) (n int, err error) {
	for n < len(b) {
		part := b[n:min(n+maxPkt-pktHeader-1, len(b))]
		pkt := append(fmt.Appendf(nil, "%04x%c", len(part)+pktHeader+1, w.number), part...)
		if _, err := w.out.Write(pkt); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}
