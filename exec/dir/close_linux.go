// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// closeTimeout is the time after which a system call in InterruptibleClose is interrupted.
const closeTimeout = 20 * time.Millisecond

// maxClosing limits the threads in InterruptibleClose. Otherwise, ten thousand connections that close at the same time
// would each lock a thread.
const maxClosing = 16

// freeSlots are the indexes in closingThreads.slots that no thread uses.
var freeSlots = func() chan int {
	free := make(chan int, maxClosing)
	for i := range maxClosing {
		free <- i
	}
	return free
}()

// closingThreads are the threads in InterruptibleClose. Their number is fixed, so that InterruptibleClose allocates
// nothing and needs little stack: thousands of readers wait in it.
var closingThreads struct {
	mu      sync.Mutex // guards the fields below
	slots   [maxClosing]closingThread
	used    int
	watched bool // interruptClosing runs
}

// closingThread is a thread in InterruptibleClose; tid 0: none.
type closingThread struct {
	tid   int
	since time.Time
}

// setClosing sets a slot.
func setClosing(slot int, t closingThread) {
	closingThreads.mu.Lock()
	defer closingThreads.mu.Unlock()
	closingThreads.slots[slot] = t
	if t.tid == 0 {
		closingThreads.used--
		return
	}
	closingThreads.used++
	if !closingThreads.watched {
		closingThreads.watched = true
		// Ends when no thread is in InterruptibleClose.
		go interruptClosing()
	}
}

// InterruptibleClose runs do, which may close the last copy of a descriptor that a container has made. The container
// controls how long such a close waits: for a TCP socket, until SO_LINGER is over (socket(7)). A signal ends the wait
// after closeTimeout, and the descriptor is closed nevertheless.
func InterruptibleClose(do func()) {
	slot := <-freeSlots
	defer func() { freeSlots <- slot }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	setClosing(slot, closingThread{unix.Gettid(), time.Now()})
	do()
	setClosing(slot, closingThread{})
}

// interruptClosing signals the threads that are in InterruptibleClose for too long. It does so repeatedly, because each
// may make several system calls that wait.
func interruptClosing() {
	tick := time.NewTicker(closeTimeout)
	defer tick.Stop()
	for range tick.C {
		closingThreads.mu.Lock()
		for _, t := range closingThreads.slots {
			if t.tid != 0 && time.Since(t.since) >= closeTimeout {
				unix.Tgkill(unix.Getpid(), t.tid, unix.SIGURG) // the Go runtime ignores a spurious one
			}
		}
		idle := closingThreads.used == 0
		closingThreads.watched = !idle
		closingThreads.mu.Unlock()
		if idle {
			return
		}
	}
}

// CloseReceived closes descriptors that a container has sent. For each, the container can delay the close for about
// closeTimeout. CloseReceived first waits for a slot, if closes of other containers have all of them.
func CloseReceived(fds ...int) {
	if len(fds) == 0 {
		return
	}
	InterruptibleClose(func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	})
}
