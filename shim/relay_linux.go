// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package shim

import (
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// relay carries the calls of a container that no socket of the host's crosses into: it
// listens in the container, and its stdin and stdout lead to the host. It understands no
// frame and waits for nobody: what a call cannot take is kept for it, and its credit keeps
// that short. When the host goes, so does the relay, and with it every call.
type relay struct {
	listener int
	calls    []*carried
	last     uint32 // the number of the last call that said anything
	out      []byte // for the host
	in       []byte // from the host: in[:have] has been read
	have     int
	fds      []pollFD
}

// carried is one call's connection.
type carried struct {
	call   uint32 // 0 before it has said anything
	fd     int
	out    []byte // for the shim
	ending bool   // the host has hung up; what is left for the shim goes first
	gone   bool
}

const (
	maxCarried = 4096                                // more wait in the socket's queue
	maxOut     = 4 * (wire.ChunkLen + wire.MaxChunk) // beyond it no call is read from
)

// relays reports whether args start a relay: hostexec relay /DIRECTORY, or end what one was
// for: hostexec relay /DIRECTORY leave /LINKS NAME...
func relays(args []string) bool {
	return len(args) >= 3 && args[1] == "relay" && len(args[2]) > 0 && args[2][0] == '/'
}

func relayed(args []string) int {
	if len(args) > 4 && args[3] == "leave" {
		return leave(args[2], args[4], args[5:])
	}
	return carry(args[2])
}

// carry is the whole life of a relay, for the calls that come to dir.
func carry(dir string) int {
	const setDumpable = 4 // PR_SET_DUMPABLE: nobody of our uid looks into it
	syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0)
	r := &relay{in: make([]byte, 2*(wire.ChunkLen+wire.MaxChunk))}
	hello := wire.Hello{Nonce: word(dir + "/nonce")}
	// A connection that arrives is how the host knows that its socket does cross.
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
	for r.turn() {
	}
	return 0
}

// listen makes the socket for anybody in the container. One that a relay before has left
// is replaced.
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

// endListener ends the relay before this one, if it is still there: an engine that was
// restarted below a container that lived on holds the stdin of its execs open for ever, so
// that no end of it says that the host has gone. The calls over it end with it.
func endListener(path string) {
	fd, err := connect(path)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	who, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED) // who listens
	if err == nil && who.Uid == 0 && who.Pid > 1 {
		syscall.Kill(int(who.Pid), syscall.SIGKILL)
	}
}

// turn waits for something to do and does it. It reports false when the host has gone.
func (r *relay) turn() bool {
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
		return false // nobody reads it any more
	}
	for i, c := range r.calls {
		if fds[3+i].revents != 0 {
			r.attend(c, fds[3+i].revents)
		}
	}
	if fds[2].revents != 0 {
		r.accept()
	}
	if fds[0].revents != 0 && !r.hear() {
		return false
	}
	r.forget()
	return r.flush()
}

func (c *carried) wants(room bool) pollFD {
	p := pollFD{fd: -1}
	if room && !c.ending {
		p = pollFD{fd: int32(c.fd), events: pollIn}
	}
	if len(c.out) > 0 {
		p = pollFD{fd: int32(c.fd), events: p.events | pollOut}
	}
	return p
}

// attend moves what can be moved of one call.
func (r *relay) attend(c *carried, events int16) {
	if len(c.out) > 0 {
		c.flush()
	}
	if c.ending || c.gone || events&^pollOut == 0 || len(r.out) >= maxOut {
		return
	}
	at := len(r.out)
	r.out = append(r.out, make([]byte, wire.ChunkLen+wire.MaxChunk)...)
	n, err := syscall.Read(c.fd, r.out[at+wire.ChunkLen:])
	if err == syscall.EINTR || err == syscall.EAGAIN {
		r.out = r.out[:at]
		return
	}
	n = max(n, 0)
	if c.call == 0 && n == 0 { // it changed its mind
		r.out, c.gone = r.out[:at], true
		return
	}
	if c.call == 0 { // the host hears of calls in the order of their numbers
		r.last++
		c.call = r.last
	}
	wire.AppendChunk(r.out[:at], c.call, n)
	r.out = r.out[:at+wire.ChunkLen+n]
	c.gone = c.gone || n == 0 // the chunk says so
}

// flush writes what the shim takes.
func (c *carried) flush() {
	n, err := syscall.Write(c.fd, c.out)
	if err != nil {
		if err != syscall.EINTR && err != syscall.EAGAIN {
			c.out = nil // who hung up is noticed by who reads
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
		r.calls = append(r.calls, &carried{fd: fd})
	} else if err == syscall.EMFILE || err == syscall.ENFILE {
		poll(nil, 10_000_000) // some other call has to end first
	}
}

// hear takes what the host says.
func (r *relay) hear() bool {
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
		if err != nil || at+wire.ChunkLen+n > r.have {
			break
		}
		at += wire.ChunkLen
		r.tell(call, r.in[at:at+n])
		at += n
	}
	r.have = copy(r.in, r.in[at:r.have])
	return true
}

func (r *relay) tell(call uint32, b []byte) {
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

// forget lets go of the calls that are over.
func (r *relay) forget() {
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

// flush writes what the host takes.
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
