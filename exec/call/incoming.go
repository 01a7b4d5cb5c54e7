// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"net"
	"os"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// incoming is a connection whose request is being read. When its time is up, or the limiter drops it, it still reads
// the data that has arrived. This machine may have been too busy to read it earlier. Only one goroutine reads.
type incoming struct {
	net.Conn
	read int    // bytes
	head []byte // the first of them, up to a header
}

func (c *incoming) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		c.read += n
		c.head = append(c.head, b[:min(n, wire.HeaderLen-len(c.head))]...)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !c.rest() {
			return n, err
		}
		c.SetReadDeadline(time.Now().Add(slowAfter)) // data that has arrived is read at once
	}
}

// rest reports whether the rest of the header, or of a request whose header was read, has arrived.
func (c *incoming) rest() bool {
	want := wire.HeaderLen
	if len(c.head) == wire.HeaderLen {
		kind, n, err := wire.ParseHeader(c.head)
		if err != nil || kind != wire.KindExec {
			return false
		}
		want += n
	}
	return want > c.read && arrived(c.Conn) >= want-c.read
}
