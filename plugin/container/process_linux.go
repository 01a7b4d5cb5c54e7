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

// containerProcess is one command in its container. It has many fields because it follows both the program in the
// container and, through the engine, the container.
type containerProcess struct {
	containers *Containers
	api        Engine
	id         string // the container's id, once it is created
	dir        string // the container's directory
	conn       *net.UnixConn
	pid        int
	tty        *os.File

	removed    <-chan container.WaitResponse // receives when the container is removed
	waitFailed <-chan error                  // receives if removed will not
	cancelWait context.CancelFunc            // cancels the requests behind both

	done    chan struct{}
	stopped chan struct{}
	status  syscall.WaitStatus // set before done is closed
}

func (g *containerProcess) PID() int                 { return g.pid }
func (g *containerProcess) Terminal() *os.File       { return g.tty }
func (g *containerProcess) Done() <-chan struct{}    { return g.done }
func (g *containerProcess) Stopped() <-chan struct{} { return g.stopped }

// Signal implements executor.BackendCommand. The caller does not wait for the result.
func (g *containerProcess) Signal(d executor.Delivery) {
	g.conn.SetWriteDeadline(time.Now().Add(time.Second)) // the container may be frozen
	g.conn.Write(wire.AppendDelivery(nil, d.Signal, d.Group))
}

// listen reads messages about the command until its end. If the connection ends without an exit message,
// the container was killed with everything in it, for example by the engine or the OOM killer.
func (g *containerProcess) listen() {
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
			g.containers.Log.Warn("a command's container ended before it said how", "container", g.id, "error", err)
		}
		return
	}
}

func (g *containerProcess) noteStop() {
	select {
	case g.stopped <- struct{}{}:
	default: // an earlier stop has not been read yet
	}
}

// Exiting implements executor.BackendCommand. It reports an end that the first process has reported.
func (g *containerProcess) Exiting() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// endSlack is the extra time for the first process to end before the container is killed.
const endSlack = 2 * time.Second

var errNotEnded = errors.New("the engine does not end its container")

// End implements executor.BackendCommand. The first process asks all processes to end, with its own grace
// period. After d, the container is removed.
func (g *containerProcess) End(d time.Duration) error {
	g.conn.CloseWrite()
	select {
	case <-g.done:
		return nil
	case <-time.After(d + endSlack):
	}
	g.containers.remove(g.api, g.id)
	select {
	case <-g.done:
		return nil
	case <-time.After(engineTimeout):
		return errNotEnded
	}
}

// Reap implements executor.BackendCommand. The container is removed in the background.
func (g *containerProcess) Reap() syscall.WaitStatus {
	<-g.done
	g.conn.Close()
	// Ends when the container is removed or cannot be removed; Containers.Close waits for it.
	g.containers.wg.Go(g.awaitRemoval)
	return g.status
}

// awaitRemoval returns when the container is removed. The engine removes it by itself; if it does not, leave
// requests the removal.
func (g *containerProcess) awaitRemoval() {
	select {
	case <-g.removed:
	case <-g.waitFailed:
		g.containers.remove(g.api, g.id)
	case <-time.After(10 * time.Second):
		g.containers.remove(g.api, g.id)
	}
	g.close()
}

// discard removes a container whose command was not started.
func (g *containerProcess) discard() {
	if g.id != "" {
		g.containers.remove(g.api, g.id)
	}
	if g.conn != nil {
		g.conn.Close()
	}
	if g.tty != nil {
		g.tty.Close()
	}
	g.close()
}

func (g *containerProcess) close() {
	defer g.containers.running.release()
	if g.cancelWait != nil {
		g.cancelWait()
	}
	if err := os.RemoveAll(g.dir); err != nil {
		g.containers.Log.Warn("remove a command's container", "error", fmt.Sprint(err))
	}
}
