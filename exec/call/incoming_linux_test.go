// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A caller whose request has come is heard, although the gate has dropped it. One that has sent less is not.
//
// Attacks 39, 143.
func TestLimiterKeepsCompleteRequests(t *testing.T) {
	msg := wire.Exec{Args: []string{"make", strings.Repeat("x", 1000)}, Cwd: "/"}
	frame := wire.AppendFrame(nil, wire.KindExec, msg.Append(nil))
	for _, tt := range []struct {
		name  string
		sent  []byte
		first int // bytes that are read before it is dropped
		heard bool
	}{
		{"a request", frame, 0, true},
		{"a request of which the header was read", frame, wire.HeaderLen, true},
		{"a request of which a part of the header was read", frame, 2, true},
		{"a request of which a part was read", frame, 100, true},
		{"nothing", nil, 0, false},
		{"a part of a header", frame[:2], 0, false},
		{"a header", frame[:wire.HeaderLen], 0, false},
		{"all but a byte", frame[:len(frame)-1], wire.HeaderLen, false},
		{"no request", append([]byte{0xff}, frame[1:]...), 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := connected(t)
			if _, err := b.Write(tt.sent); err != nil {
				t.Fatal(err)
			}
			var g connLimiter
			r := &slowly{Reader: g.enter(a), first: tt.first}
			r.drop = func() { a.SetReadDeadline(time.Unix(1, 0)) } // as enter does
			if tt.first == 0 {
				r.drop()
			}
			s := &Server{}
			held := s.newReservation()
			defer held.release()
			got, err := readExec(r, held)
			g.leave(a)
			switch {
			case tt.heard && (err != nil || len(got.Args) != 2):
				t.Errorf("readExec = %v, %v", got, err)
			case !tt.heard && err == nil:
				t.Error("it is heard")
			}
			if !tt.heard && tt.name == "nothing" && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("readExec: %v", err)
			}
		})
	}
}

// slowly calls drop when first bytes were read.
type slowly struct {
	Reader interface{ Read([]byte) (int, error) }
	first  int
	drop   func()
}

func (s *slowly) Read(b []byte) (int, error) {
	if s.first == 0 {
		return s.Reader.Read(b)
	}
	n, err := s.Reader.Read(b[:min(len(b), s.first)])
	if s.first -= n; s.first == 0 {
		s.drop()
	}
	return n, err
}

// connected returns two ends of a connection.
func connected(t *testing.T) (a, b net.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), filepath.Base(t.Name()))
		ends[i], err = net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ends[i].Close() })
	}
	return ends[0], ends[1]
}
