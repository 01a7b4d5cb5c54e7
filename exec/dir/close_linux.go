// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// closeTimeout is how long a system call of Hurry's may wait, at least.
const closeTimeout = 20 * time.Millisecond

// slots bounds the threads that are in Hurry. A thread that is somebody's own is of no use to
// others, and ten thousand connections that close at once would have one each.
var slots = make(chan struct{}, 16)

// closingThreads are the threads that are in Hurry.
var closingThreads struct {
	mu      sync.Mutex // guards the fields below
	threads []closingThread
	watched bool // by a goroutine
}

type closingThread struct {
	tid   int
	since time.Time
}

// InterruptibleClose runs do, in which descriptors of a container's making may be closed for the last
// time. Such a close waits for as long as the container says: a TCP socket's until its
// SO_LINGER is over (socket(7)). A signal ends the wait, and the close is done all the same.
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
		// ends when it looks and nobody is in Hurry.
		go interruptClosing()
	}
	closingThreads.mu.Unlock()
	do()
	closingThreads.mu.Lock()
	closingThreads.threads = slices.DeleteFunc(closingThreads.threads, func(h closingThread) bool { return h.tid == tid })
	closingThreads.mu.Unlock()
}

// interruptClosing signals who is in Hurry for too long, again and again: one may make many
// system calls that wait.
func interruptClosing() {
	tick := time.NewTicker(closeTimeout)
	defer tick.Stop()
	for range tick.C {
		closingThreads.mu.Lock()
		for _, h := range closingThreads.threads {
			if time.Since(h.since) >= closeTimeout {
				unix.Tgkill(unix.Getpid(), h.tid, unix.SIGURG) // to which the Go runtime does nothing that matters
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

// Close closes descriptors that a container has handed over, without waiting for what it
// wants to be waited for.
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
