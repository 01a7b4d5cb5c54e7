// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// closeTimeout is how long a system call in InterruptibleClose may wait.
const closeTimeout = 20 * time.Millisecond

// slots limits the threads in InterruptibleClose. Without it, ten thousand connections that close at once would each
// lock a thread.
var slots = make(chan struct{}, 16)

// closingThreads are the threads in InterruptibleClose.
var closingThreads struct {
	mu      sync.Mutex // guards the fields below
	threads []closingThread
	watched bool // by a goroutine
}

type closingThread struct {
	tid   int
	since time.Time
}

// InterruptibleClose runs do, which may close the last copy of a descriptor that a container has made. Such a close waits
// as long as the container wants: for a TCP socket, until SO_LINGER is over (socket(7)). A signal ends the wait, and the
// descriptor is closed nevertheless.
func InterruptibleClose(do func()) {
	slots <- struct{}{}
	defer func() { <-slots }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := unix.Gettid()
	closingThreads.mu.Lock()
	closingThreads.threads = append(closingThreads.threads, closingThread{tid, time.Now()})
	if !closingThreads.watched {
		closingThreads.watched = true
		// ends when no thread is in InterruptibleClose.
		go interruptClosing()
	}
	closingThreads.mu.Unlock()
	do()
	closingThreads.mu.Lock()
	closingThreads.threads = slices.DeleteFunc(closingThreads.threads, func(h closingThread) bool { return h.tid == tid })
	closingThreads.mu.Unlock()
}

// interruptClosing signals the threads that are in InterruptibleClose for too long, again and again: each may make many
// system calls that wait.
func interruptClosing() {
	tick := time.NewTicker(closeTimeout)
	defer tick.Stop()
	for range tick.C {
		closingThreads.mu.Lock()
		for _, h := range closingThreads.threads {
			if time.Since(h.since) >= closeTimeout {
				unix.Tgkill(unix.Getpid(), h.tid, unix.SIGURG) // the Go runtime ignores a spurious one
			}
		}
		idle := len(closingThreads.threads) == 0
		closingThreads.watched = !idle
		closingThreads.mu.Unlock()
		if idle {
			return
		}
	}
}

// Close closes descriptors that a container has sent. The container cannot make it wait.
func Close(fds ...int) {
	if len(fds) == 0 {
		return
	}
	InterruptibleClose(func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	})
}
