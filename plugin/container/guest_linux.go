// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// guest is one command in its container.
type guest struct {
	rooms *Rooms
	api   Engine
	id    string // the container's, once it is made
	dir   string // the room's folder
	conn  *net.UnixConn
	pid   int
	tty   *os.File

	removed <-chan container.WaitResponse // the container is
	unknown <-chan error                  // whether it is
	forget  context.CancelFunc            // ends both

	done    chan struct{}
	stopped chan struct{}
	status  syscall.WaitStatus // set before done is closed
}

func (g *guest) PID() int                 { return g.pid }
func (g *guest) Terminal() *os.File       { return g.tty }
func (g *guest) Done() <-chan struct{}    { return g.done }
func (g *guest) Stopped() <-chan struct{} { return g.stopped }

// Signal implements executor.Guest. Nobody waits for the result, as with a key that was
// pressed.
func (g *guest) Signal(d executor.Delivery) {
	g.conn.SetWriteDeadline(time.Now().Add(time.Second)) // a frozen container
	g.conn.Write(wire.AppendDelivery(nil, d.Signal, d.Group))
}

// listen hears of the command until its end. A room that has gone without a word was
// killed, and all with it: by the engine, or for want of memory.
func (g *guest) listen() {
	defer close(g.done)
	buf := make([]byte, 64)
	for {
		kind, p, err := wire.ReadFrame(g.conn, buf)
		var m wire.Exit
		if err == nil && kind == wire.KindExit {
			m, err = wire.ParseExit(p)
		}
		switch {
		case err == nil && kind == wire.KindStopped:
			g.noteStop()
			continue
		case err == nil && kind == wire.KindExit && m.Outcome == wire.Exited:
			g.status = syscall.WaitStatus(uint32(m.Code) << 8)
		case err == nil && kind == wire.KindExit && m.Outcome == wire.Signaled:
			g.status = syscall.WaitStatus(m.Code & 0x7f)
		default:
			g.status = syscall.WaitStatus(syscall.SIGKILL)
			g.rooms.Log.Warn("a command's container ended before it said how", "container", g.id, "error", err)
		}
		return
	}
}

func (g *guest) noteStop() {
	select {
	case g.stopped <- struct{}{}:
	default: // it is not known yet that it was stopped
	}
}

// unwilling is how much longer than it should a room may take before it is killed.
const unwilling = 2 * time.Second

var errUndead = errors.New("the engine does not end its container")

// End implements executor.Guest. The room asks everything to end, and has a grace of its
// own; d is how long the container has in any case.
func (g *guest) End(d time.Duration) error {
	g.conn.CloseWrite()
	select {
	case <-g.done:
		return nil
	case <-time.After(d + unwilling):
	}
	g.rooms.remove(g.api, g.id)
	select {
	case <-g.done:
		return nil
	case <-time.After(answering):
		return errUndead
	}
}

// Reap implements executor.Guest. The container is removed behind the answer's back.
func (g *guest) Reap() syscall.WaitStatus {
	<-g.done
	g.conn.Close()
	// ends when the container is removed, or will not be; Rooms.Close waits for it.
	g.rooms.wg.Go(g.leave)
	return g.status
}

// leave returns when the container has gone. The engine removes it by itself; if it does
// not, it is told to.
func (g *guest) leave() {
	select {
	case <-g.removed:
	case <-g.unknown:
		g.rooms.remove(g.api, g.id)
	case <-time.After(10 * time.Second):
		g.rooms.remove(g.api, g.id)
	}
	g.close()
}

// discard removes a container whose command was not started.
func (g *guest) discard() {
	if g.id != "" {
		g.rooms.remove(g.api, g.id)
	}
	if g.conn != nil {
		g.conn.Close()
	}
	if g.tty != nil {
		g.tty.Close()
	}
	g.close()
}

func (g *guest) close() {
	defer g.rooms.all.giveBack()
	if g.forget != nil {
		g.forget()
	}
	if err := os.RemoveAll(g.dir); err != nil {
		g.rooms.Log.Warn("remove a command's room", "error", fmt.Sprint(err))
	}
}
