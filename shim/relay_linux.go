// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// relay carries the calls of a container in which the host's socket does not work. It listens in the
// container, and its stdin and stdout are connected to the host. It does not parse frames and waits for no
// single call: it queues data that a call cannot take, which the call's credit limits. When the host
// disconnects, the relay ends, and all calls with it.
type relay struct {
	listener   int
	calls      []*relayedCall
	lastNumber uint32 // the highest number of a call that has sent data
	out        []byte // data for the host
	in         []byte // data from the host: in[:have] is read
	have       int
	fds        []pollFD
}

// relayedCall is the connection of one call.
type relayedCall struct {
	call   uint32 // 0 until it has sent data
	fd     int
	out    []byte // data for the shim
	ending bool   // the host has ended the call; out must still be written
	gone   bool
}

const (
	maxCarried = 4096                                      // more wait in the socket's queue
	maxOut     = 4 * (wire.ChunkHeaderLen + wire.MaxChunk) // calls are not read while out is longer
)

// isRelay reports whether args start a relay (hostexec relay /DIRECTORY), or clean up after one (hostexec
// relay /DIRECTORY leave /LINKS NAME...).
func isRelay(args []string) bool {
	return len(args) >= 3 && args[1] == "relay" && len(args[2]) > 0 && args[2][0] == '/'
}

// runRelay runs a relay for the calls in dir, until the host disconnects.
func runRelay(dir string) int {
	const setDumpable = 4 // PR_SET_DUMPABLE: other processes of our uid cannot inspect this one
	syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0)
	r := &relay{in: make([]byte, 2*(wire.ChunkHeaderLen+wire.MaxChunk))}
	hello := wire.Hello{Nonce: readWord(dir + "/nonce")}
	// A successful connection shows the host that its socket works in the container.
	if fd, err := connect(dir + "/socket"); err == nil {
		syscall.Close(fd)
		hello.Socket = true
	}
	var err error
	if r.listener, err = listen(dir + "/relay/socket"); err != nil {
		hello.Failed = "listen in " + dir + "/relay: " + err.Error()
	}
	p := hello.Append(nil)
	writeAll(1, append(wire.AppendChunk(nil, 0, len(p)), p...))
	if err != nil {
		return wire.CodeFailed
	}
	syscall.SetNonblock(0, true)
	syscall.SetNonblock(1, true)
	for r.step() {
	}
	return 0
}

// listen creates the socket, with access for every user in the container. It replaces the socket of an
// earlier relay.
func listen(path string) (int, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	endListener(path)
	syscall.Unlink(path)
	syscall.Umask(0o111)
	if err = syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err == nil {
		err = syscall.Listen(fd, maxCarried)
	}
	return fd, err
}

// endListener kills the previous relay if it still runs. After an engine restart with live-restore, the
// engine keeps the stdin of the old exec open, so the old relay does not see its end. The calls over it
// end too.
func endListener(path string) {
	fd, err := connect(path)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	who, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED) // the listening process
	if err == nil && who.Uid == 0 && who.Pid > 1 {
		syscall.Kill(int(who.Pid), syscall.SIGKILL)
	}
}

// step waits for events and handles them. It returns false when the host has disconnected.
func (r *relay) step() bool {
	fds := append(r.fds[:0], pollFD{fd: 0, events: pollIn}, pollFD{fd: 1}, pollFD{fd: -1})
	if len(r.out) > 0 {
		fds[1].events = pollOut
	}
	room := len(r.out) < maxOut
	if room && len(r.calls) < maxCarried {
		fds[2] = pollFD{fd: int32(r.listener), events: pollIn}
	}
	for _, c := range r.calls {
		fds = append(fds, c.wants(room))
	}
	r.fds = fds
	poll(fds, -1)
	if fds[1].revents&^pollOut != 0 {
		return false // the host has closed its end
	}
	for i, c := range r.calls {
		if fds[3+i].revents != 0 {
			r.handleCall(c, fds[3+i].revents)
		}
	}
	if fds[2].revents != 0 {
		r.accept()
	}
	if fds[0].revents != 0 && !r.readHost() {
		return false
	}
	r.closeEnded()
	return r.flush()
}

func (c *relayedCall) wants(room bool) pollFD {
	p := pollFD{fd: -1}
	if room && !c.ending {
		p = pollFD{fd: int32(c.fd), events: pollIn}
	}
	if len(c.out) > 0 {
		p = pollFD{fd: int32(c.fd), events: p.events | pollOut}
	}
	return p
}

// handleCall reads and writes the data of one call.
func (r *relay) handleCall(c *relayedCall, events int16) {
	if len(c.out) > 0 {
		c.flush()
	}
	if c.ending || c.gone || events&^pollOut == 0 || len(r.out) >= maxOut {
		return
	}
	at := len(r.out)
	r.out = append(r.out, make([]byte, wire.ChunkHeaderLen+wire.MaxChunk)...)
	n, err := syscall.Read(c.fd, r.out[at+wire.ChunkHeaderLen:])
	if err == syscall.EINTR || err == syscall.EAGAIN {
		r.out = r.out[:at]
		return
	}
	n = max(n, 0)
	if c.call == 0 && n == 0 { // the caller disconnected without a request
		r.out, c.gone = r.out[:at], true
		return
	}
	if c.call == 0 { // the host requires increasing numbers
		r.lastNumber++
		c.call = r.lastNumber
	}
	wire.AppendChunk(r.out[:at], c.call, n)
	r.out = r.out[:at+wire.ChunkHeaderLen+n]
	c.gone = c.gone || n == 0 // an empty chunk ends the call
}

// flush writes as much to the shim as possible without blocking.
func (c *relayedCall) flush() {
	n, err := syscall.Write(c.fd, c.out)
	if err != nil {
		if err != syscall.EINTR && err != syscall.EAGAIN {
			c.out = nil // the host side notices the end by reading
			c.gone = c.ending
		}
		return
	}
	if c.out = c.out[n:]; len(c.out) == 0 {
		c.out = nil
	}
}

func (r *relay) accept() {
	fd, _, err := syscall.Accept4(r.listener, syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK)
	if err == nil {
		r.calls = append(r.calls, &relayedCall{fd: fd})
	} else if err == syscall.EMFILE || err == syscall.ENFILE {
		poll(nil, 10_000_000) // 10 ms: a call that ends frees a descriptor
	}
}

// readHost reads data from the host.
func (r *relay) readHost() bool {
	n, err := syscall.Read(0, r.in[r.have:])
	if n <= 0 {
		return err == syscall.EINTR || err == syscall.EAGAIN
	}
	r.have += n
	at := 0
	for {
		call, n, err := wire.ParseChunk(r.in[at:r.have])
		if err == wire.ErrTooLong {
			return false
		}
		if err != nil || at+wire.ChunkHeaderLen+n > r.have {
			break
		}
		at += wire.ChunkHeaderLen
		r.deliver(call, r.in[at:at+n])
		at += n
	}
	r.have = copy(r.in, r.in[at:r.have])
	return true
}

func (r *relay) deliver(call uint32, b []byte) {
	for _, c := range r.calls {
		if c.call != call {
			continue
		}
		c.ending = c.ending || len(b) == 0
		first := len(c.out) == 0
		c.out = append(c.out, b...)
		if first && len(b) > 0 {
			c.flush()
		}
	}
}

// closeEnded closes the calls that are over.
func (r *relay) closeEnded() {
	keep := r.calls[:0]
	for _, c := range r.calls {
		if c.gone || c.ending && len(c.out) == 0 {
			syscall.Close(c.fd)
		} else {
			keep = append(keep, c)
		}
	}
	r.calls = keep
}

// flush writes as much to the host as possible without blocking.
func (r *relay) flush() bool {
	if len(r.out) == 0 {
		return true
	}
	n, err := syscall.Write(1, r.out)
	if err != nil {
		return err == syscall.EINTR || err == syscall.EAGAIN
	}
	r.out = r.out[:copy(r.out, r.out[n:])]
	return true
}
