// SPDX-License-Identifier: Apache-2.0

package callcontainer

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

// containerProcess is the executor.BackendCommand of one command in its container. It has many fields because it
// follows both the program in the container and, through the engine, the container.
type containerProcess struct {
	containers *Containers
	api        Engine
	id         string            // the container's id, once it is created
	dir        string            // the container's directory
	ln         *net.UnixListener // in dir, for the first process; nil: there is no directory
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

func (proc *containerProcess) PID() int                 { return proc.pid }
func (proc *containerProcess) Terminal() *os.File       { return proc.tty }
func (proc *containerProcess) Done() <-chan struct{}    { return proc.done }
func (proc *containerProcess) Stopped() <-chan struct{} { return proc.stopped }

// Signal does not wait for the result.
func (proc *containerProcess) Signal(d executor.Delivery) {
	proc.conn.SetWriteDeadline(time.Now().Add(time.Second)) // the container may be frozen
	proc.conn.Write(wire.AppendDelivery(nil, d.Signal, d.Group))
}

// listen reads messages about the command until its end. If the connection ends without an exit message,
// the container was killed with everything in it, for example by the engine or the OOM killer.
func (proc *containerProcess) listen() {
	defer close(proc.done)
	buf := make([]byte, 64)
	for {
		kind, p, err := wire.ReadFrame(proc.conn, buf)
		var m wire.Exit
		if err == nil && kind == wire.KindExit {
			m, err = wire.ParseExit(p)
		}
		switch {
		case err == nil && kind == wire.KindStopped:
			proc.noteStop()
			continue
		case err == nil && kind == wire.KindExit && m.Outcome == wire.Exited:
			proc.status = syscall.WaitStatus(uint32(m.Code) << 8)
		case err == nil && kind == wire.KindExit && m.Outcome == wire.Signaled:
			proc.status = syscall.WaitStatus(m.Code & 0x7f)
		default:
			proc.status = syscall.WaitStatus(syscall.SIGKILL)
			proc.containers.Log.Warn("a call container ended without an exit message", "container", proc.id, "error", err)
		}
		return
	}
}

func (proc *containerProcess) noteStop() {
	select {
	case proc.stopped <- struct{}{}:
	default: // an earlier stop has not been read yet
	}
}

// Exiting reports an end that the first process has reported.
func (proc *containerProcess) Exiting() bool {
	select {
	case <-proc.done:
		return true
	default:
		return false
	}
}

// endSlack is the extra time for the first process to end before the container is removed.
const endSlack = 2 * time.Second

var errNotEnded = errors.New("the engine does not remove its container")

// End makes the first process ask all processes to end, with its own grace period. After d and endSlack, it removes the
// container.
func (proc *containerProcess) End(d time.Duration) error {
	proc.conn.CloseWrite()
	select {
	case <-proc.done:
		return nil
	case <-time.After(d + endSlack):
	}
	proc.containers.remove(proc.api, proc.id)
	select {
	case <-proc.done:
		return nil
	case <-time.After(engineTimeout):
		return errNotEnded
	}
}

// Reap does not wait for the removal of the container, which happens in the background.
func (proc *containerProcess) Reap() syscall.WaitStatus {
	<-proc.done
	proc.conn.Close()
	// Ends when the container is removed or cannot be removed; Containers.Close waits for it.
	proc.containers.wg.Go(proc.awaitRemoval)
	return proc.status
}

// awaitRemoval returns when the container is removed. The engine removes it by itself; otherwise, this
// function requests the removal.
func (proc *containerProcess) awaitRemoval() {
	select {
	case <-proc.removed:
	case <-proc.waitFailed:
		proc.containers.remove(proc.api, proc.id)
	case <-time.After(10 * time.Second):
		proc.containers.remove(proc.api, proc.id)
	}
	proc.close()
}

// discard removes a container whose command was not started.
func (proc *containerProcess) discard() {
	if proc.id != "" {
		proc.containers.remove(proc.api, proc.id)
	}
	if proc.ln != nil {
		proc.ln.Close()
	}
	if proc.conn != nil {
		proc.conn.Close()
	}
	if proc.tty != nil {
		proc.tty.Close()
	}
	proc.close()
}

func (proc *containerProcess) close() {
	defer proc.containers.running.release()
	if proc.cancelWait != nil {
		proc.cancelWait()
	}
	if err := os.RemoveAll(proc.dir); err != nil {
		proc.containers.Log.Warn("remove a call container", "error", fmt.Sprint(err))
	}
}
