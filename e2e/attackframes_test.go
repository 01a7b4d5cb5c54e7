// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// request is a valid Exec frame for a command that prints that it ran.
func request(change func(*wire.Exec)) []byte {
	m := wire.Exec{Args: []string{"hsh", "-c", "echo RAN"}, Cwd: "/w", FDs: [3]wire.FD{wire.FDNull, wire.FDOther, wire.FDOther}}
	if change != nil {
		change(&m)
	}
	return wire.AppendFrame(nil, wire.KindExec, m.Append(nil))
}

// passing is a request whose descriptors 1 and up are declared as passed, of this kind.
func passing(passed byte, fds ...wire.FD) []byte {
	return request(func(m *wire.Exec) { m.Passed = passed; copy(m.FDs[:], fds) })
}

// header is a frame's head that promises n bytes.
func header(kind byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{kind}, n)
}

// TestIntegrationBadFrames sends invalid requests and requests with unexpected descriptors. Nothing
// runs, the caller gets one line or a closed connection, and the watcher is unchanged.
//
// Attacks 25, 26, 27, 28, 29, 32, 40.
func TestIntegrationBadFrames(t *testing.T) {
	const undeclared = "descriptors where none is said"
	other := request(nil)
	other[wire.HeaderLen] = wire.Version + 1
	tests := []struct {
		name  string
		fds   string
		frame []byte
	}{
		{"nothing at all", "-", nil},
		{"one byte", "-", []byte{1}},
		{"half a frame", "-", request(nil)[:20]},
		{"one byte short", "-", request(nil)[:len(request(nil))-1]},
		{"one byte long", "-", longer(request(nil))},
		{"another version", "-", other},
		{"another kind first", "-", wire.AppendFrame(nil, wire.KindStdin, []byte("x"))},
		{"a kind that there is not", "-", header(200, 4)},
		{"garbage", "-", bytes.Repeat([]byte{0xa5, 0x5a, 0xff}, 5000)},
		{"text", "-", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")},
		{"more than a request may have", "-", header(byte(wire.KindExec), wire.MaxExec+1)},
		{"4 GiB promised", "-", header(byte(wire.KindExec), 1<<32-1)},
		{"empty", "-", header(byte(wire.KindExec), 0)},
		{"no arguments", "-", request(func(m *wire.Exec) { m.Args = nil })},
		{"a NUL in an argument", "-", request(func(m *wire.Exec) { m.Args[2] = "a\x00b" })},
		{"fewer descriptors than said", "-", passing(1, wire.FDPipe)},
		{"one of two descriptors", "w", passing(6, wire.FDNull, wire.FDPipe, wire.FDPipe)},
		{"more descriptors than said", "w,w,w", passing(2, wire.FDNull, wire.FDPipe)},
		{undeclared, "w", request(nil)},
		{"200 descriptors", strings.Repeat("w,", 199) + "w", passing(2, wire.FDNull, wire.FDPipe)},
		{"a pipe in the wrong direction", "r", passing(2, wire.FDNull, wire.FDPipe)},
		{"a directory", "ro:/", passing(1, wire.FDPipe)},
		{"a regular file", "ro:/etc/passwd", passing(1, wire.FDPipe)},
		{"/proc/self/mem", "/proc/self/mem", passing(2, wire.FDNull, wire.FDPipe)},
		{"/proc/self/environ", "ro:/proc/self/environ", passing(1, wire.FDPipe)},
		{"/dev/full", "/dev/full", passing(2, wire.FDNull, wire.FDPipe)},
		{"/dev/zero as a terminal", "/dev/zero", passing(2, wire.FDNull, wire.FDTTY)},
		{"a master of a terminal", "ptmx", passing(2, wire.FDNull, wire.FDTTY)},
		{"a named pipe", "fifo", passing(2, wire.FDNull, wire.FDPipe)},
		{"a datagram socket", "dgram", passing(2, wire.FDNull, wire.FDSocket)},
		{"epoll", "epoll", passing(1, wire.FDPipe)},
		{"eventfd", "eventfd", passing(1, wire.FDPipe)},
		{"inotify", "inotify", passing(1, wire.FDPipe)},
		{"pidfd", "pidfd", passing(1, wire.FDPipe)},
		{"memfd", "memfd", passing(1, wire.FDPipe)},
		{"a descriptor without access", "opath", passing(1, wire.FDPipe)},
	}
	forEachUser(t, func(t *testing.T, c *Container) {
		w := c.Host.Watcher(t, c.Session)
		c.Exec(t, "hsh", "-c", ":") // everything that is opened once is open
		fds := countFDs(t, w.PID)
		for _, tt := range tests {
			if c.Carrier == "relay" && tt.name == undeclared {
				continue // none crosses: it is a good request there
			}
			t.Run(tt.name, func(t *testing.T) {
				started, exit := c.exchange(t, tt.fds, tt.frame)
				if started || exit != nil && (exit.Outcome != wire.Failed || exit.Code != wire.CodeFailed || strings.Count(exit.Text, "\n") != 1) {
					t.Errorf("started %t, exit %+v", started, exit)
				}
			})
		}
		want(t, "a good call", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
		eventually(t, soon, "all descriptors are returned", func() bool { return countFDs(t, w.PID) <= fds })
	})
}

func longer(frame []byte) []byte {
	frame = append(frame, 'x')
	binary.BigEndian.PutUint32(frame[1:], uint32(len(frame)-wire.HeaderLen))
	return frame
}

// exchange sends data and reads the answer: whether something was started, and the Exit
// frame if there is one.
func (c *Container) exchange(t testing.TB, fds string, data []byte) (started bool, exit *wire.Exit) {
	t.Helper()
	return c.send(t, data, fds, "half")
}

// send is exchange with arguments for the probe. Without "half" the call is not hung up.
func (c *Container) send(t testing.TB, data []byte, args ...string) (started bool, exit *wire.Exit) {
	t.Helper()
	r := c.Feed(t, hex.EncodeToString(data)+"\n", append([]string{"/probe", "send"}, args...)...)
	if r.Code != 0 {
		t.Fatalf("send: %v", r)
	}
	reply, err := hex.DecodeString(strings.TrimSpace(r.Out))
	check(t, err)
	for in := bytes.NewReader(reply); in.Len() > 0; {
		kind, p, err := wire.ReadFrame(in, nil)
		check(t, err)
		switch kind {
		case wire.KindStarted:
			started = true
		case wire.KindExit:
			e, err := wire.ParseExit(p)
			check(t, err)
			exit = &e
		}
	}
	return started, exit
}

// TestIntegrationValidFrames sends a valid request the same way, so that the tests above cannot
// pass because of a broken sender.
func TestIntegrationValidFrames(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		r := c.Feed(t, hex.EncodeToString(request(nil))+"\n", "/probe", "send", "-")
		reply, err := hex.DecodeString(strings.TrimSpace(r.Out))
		check(t, err)
		if !bytes.Contains(reply, []byte("RAN\n")) {
			t.Errorf("the answer is %q", reply)
		}
	})
}

// TestIntegrationBadFramesLater starts a call correctly and continues with invalid frames: the
// command ends.
//
// Attack 40.
func TestIntegrationBadFramesLater(t *testing.T) {
	begin := request(func(m *wire.Exec) {
		m.Args = []string{"hsh", "-c", "exec sleep 1234"}
		m.FDs[0] = wire.FDOther
	})
	tests := map[string][]byte{
		"a second request":         request(nil),
		"a frame of the host's":    wire.AppendFrame(nil, wire.KindStdout, []byte("x")),
		"an Exit":                  wire.AppendFrame(nil, wire.KindExit, (&wire.Exit{}).Append(nil)),
		"a frame that is too long": header(byte(wire.KindStdin), wire.MaxFrame+1),
		"more stdin than granted":  bytes.Repeat(wire.AppendFrame(nil, wire.KindStdin, make([]byte, wire.MaxFrame)), 16),
		"stdin after its end":      append(wire.AppendFrame(nil, wire.KindStdinEOF, nil), wire.AppendFrame(nil, wire.KindStdin, []byte("x"))...),
		"a size that is none":      wire.AppendFrame(nil, wire.KindWinsize, []byte("x")),
		"credit without end":       wire.AppendFrame(nil, wire.KindCredit, wire.AppendCredit(nil, 1<<32-1)),
		"half a frame, then gone":  header(byte(wire.KindStdin), 10),
	}
	forEachUser(t, func(t *testing.T, c *Container) {
		for name, frames := range tests {
			c.exchange(t, "-", append(bytes.Clone(begin), frames...)) // it returns when the host hangs up
			// It hangs up first, and then the command ends.
			eventually(t, soon, name+": no call runs", func() bool { return !strings.Contains(c.Exec(t, "hostexec", "ps").Out, "sleep 1234") })
		}
	})
}

// TestIntegrationSilentCallers opens ten thousand connections that send nothing. A real call is
// served meanwhile, and in the end all connections are closed.
//
// Attacks 39, 145.
func TestIntegrationSilentCallers(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Shared(t, "socket")
			w := h.Watcher(t, c.Session)
			c.Exec(t, "hsh", "-c", ":") // everything that is opened once is open
			fds := countFDs(t, w.PID)
			silent := c.Start(t, "/probe", "silent", "10000")
			served := Result{Out: "called\n"}
			want(t, "a call while others connect", c.Exec(t, "hsh", "-c", "echo called"), served)
			want(t, "line", silent.Line(t), "connected")
			want(t, "a call when all have connected", c.Exec(t, "hsh", "-c", "echo called"), served)
			within(t, "threads of the watcher", statusNum(t, w.PID, "Threads"), 48)
			t.Logf("%d KiB RssAnon, %d descriptors", statusNum(t, w.PID, "RssAnon"), countFDs(t, w.PID))
			want(t, "code", silent.Wait(t).Code, 0)
			eventually(t, soon, "all descriptors are returned", func() bool { return countFDs(t, w.PID) <= fds })
		})
	}
}

// TestIntegrationManySignals sends a call more signals than can be delivered.
func TestIntegrationManySignals(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		call := c.Start(t, "hbash", "-c", `trap : USR1; echo ready; while read -r l || [ $? -gt 128 ]; do :; done; exit 3`)
		want(t, "line", call.Line(t), "ready")
		c.As("0").Sh(t, `for i in {1..2000}; do kill -USR1 $1; done`, itoa(call.PID))
		want(t, "code", call.Wait(t).Code, 3)
	})
}

// TestIntegrationNeverRead writes to a caller that never reads: the call waits, others go
// on, and the end of the caller is the end of the command.
//
// Attack 35.
func TestIntegrationNeverRead(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		call := c.Start(t, "bash", "-c", `mkfifo /tmp/$$; exec 3<>/tmp/$$; rm /tmp/$$; echo stuck; exec hsh -c 'while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done' >&3`)
		want(t, "line", call.Line(t), "stuck")
		want(t, "another call", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
		call.Signal(t, "TERM")
		want(t, "code", call.Ended(t).Code, 143)
		eventually(t, grace, "no call runs", func() bool { return !strings.Contains(c.Exec(t, "hostexec", "ps").Out, "yyyy") })
	})
}
