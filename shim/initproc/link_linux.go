// SPDX-License-Identifier: Apache-2.0

package initproc

import (
	"sync"
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// link is the connection to the host.
type link struct {
	fd int
	mu sync.Mutex // held while a frame is sent
}

// startError is the reason why a command could not be started.
type startError struct {
	op  string
	err error
}

func (e startError) Error() string { return e.op + ": " + e.err.Error() }

// readRequest connects to the host and sends it the working directory and the root directory of this container.
// It returns the request and the descriptors that come with it.
func (l *link) readRequest(socket string) (req wire.Exec, fds []int, err error) {
	if l.fd, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0); err != nil {
		return req, nil, err
	}
	if err = syscall.Connect(l.fd, &syscall.SockaddrUnix{Name: socket}); err != nil {
		return req, nil, err
	}
	const how = 0x200000 | syscall.O_DIRECTORY | syscall.O_CLOEXEC // O_PATH
	cwd, _ := syscall.Open(".", how, 0)
	root, _ := syscall.Open("/", how, 0)
	err = l.send(wire.KindNotice, nil, cwd, root) // fails if one of them is invalid
	syscall.Close(cwd)
	syscall.Close(root)
	if err != nil {
		return req, nil, err
	}
	return l.receiveExec()
}

func (l *link) receiveExec() (req wire.Exec, fds []int, err error) {
	var head [wire.HeaderLen]byte
	oob := make([]byte, syscall.CmsgSpace(3*4))
	n, oobn, _, _, err := syscall.Recvmsg(l.fd, head[:1], oob, syscall.MSG_CMSG_CLOEXEC)
	if err != nil || n != 1 {
		return req, nil, errGone
	}
	msgs, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return req, nil, err
	}
	for i := range msgs {
		got, err := syscall.ParseUnixRights(&msgs[i])
		if err != nil {
			return req, nil, err
		}
		fds = append(fds, got...)
	}
	if err := l.readFull(head[1:]); err != nil {
		return req, nil, err
	}
	kind, b, err := l.payload(head[:])
	if err != nil || kind != wire.KindExec {
		return req, nil, wire.ErrKind
	}
	if req, err = wire.ParseExec(string(b)); err != nil {
		return req, nil, err
	}
	if len(req.Args) < 2 || int(req.Passed&1+req.Passed>>1&1+req.Passed>>2&1) != len(fds) {
		return req, nil, wire.ErrMalformed
	}
	return req, fds, nil
}

const errGone = wire.Error("the host has gone")

// next returns the next frame.
func (l *link) next() (wire.Kind, []byte, error) {
	var head [wire.HeaderLen]byte
	if err := l.readFull(head[:]); err != nil {
		return 0, nil, err
	}
	return l.payload(head[:])
}

// payload reads the payload of a frame. The data comes from the host, so the length is trusted.
func (l *link) payload(head []byte) (wire.Kind, []byte, error) {
	kind, size, err := wire.ParseHeader(head)
	if err != nil {
		return 0, nil, err
	}
	b := make([]byte, size)
	return kind, b, l.readFull(b)
}

// readFull reads all of p.
func (l *link) readFull(p []byte) error {
	for len(p) > 0 {
		n, err := syscall.Read(l.fd, p)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case n == 0:
			return errGone
		default:
			p = p[n:]
		}
	}
	return nil
}

// send sends a frame, with fds attached.
func (l *link) send(kind wire.Kind, payload []byte, fds ...int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := wire.AppendFrame(nil, kind, payload)
	var oob []byte
	if len(fds) > 0 {
		oob = syscall.UnixRights(fds...)
	}
	for len(b) > 0 {
		n, err := syscall.SendmsgN(l.fd, b, oob, nil, syscall.MSG_NOSIGNAL)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		b, oob = b[n:], nil
	}
	return nil
}

// started sends the message that the command runs. It passes the master of the command's terminal, if
// there is one, and closes it.
func (l *link) started(master int) error {
	m := wire.Started{}
	if master < 0 {
		return l.send(wire.KindStarted, m.Append(nil))
	}
	err := l.send(wire.KindStarted, m.Append(nil), master)
	syscall.Close(master)
	return err
}

// failed sends the reason why the command does not run: an errno and a text.
func (l *link) failed(err error) {
	m := wire.Exit{Outcome: wire.Failed, Code: byte(syscall.EIO)}
	if e, ok := err.(startError); ok {
		m.Text = e.op
		if errno, ok := e.err.(syscall.Errno); ok {
			m.Code = byte(errno)
		}
	}
	l.send(wire.KindExit, m.Append(nil))
}

// reportEnd sends the status of the command. Signals are sent by number too, because host and container have
// the same kernel.
func (l *link) reportEnd(ws syscall.WaitStatus) {
	m := wire.Exit{Outcome: wire.Exited, Code: byte(ws.ExitStatus())}
	if ws.Signaled() {
		m = wire.Exit{Outcome: wire.Signaled, Code: byte(ws.Signal()), Signal: decimal(int(ws.Signal()))}
	}
	l.send(wire.KindExit, m.Append(nil))
}
