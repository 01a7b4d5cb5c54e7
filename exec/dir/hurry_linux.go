// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package dir

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// impatience is how long a system call of Hurry's may wait, at least.
const impatience = 20 * time.Millisecond

// slots bounds the threads that are in Hurry. A thread that is somebody's own is of no use to
// others, and ten thousand connections that close at once would have one each.
var slots = make(chan struct{}, 16)

// hurried are the threads that are in Hurry.
var hurried struct {
	mu      sync.Mutex // guards the fields below
	threads []hurry
	watched bool // by a goroutine
}

type hurry struct {
	tid   int
	since time.Time
}

// Hurry runs do, in which descriptors of a container's making may be closed for the last
// time. Such a close waits for as long as the container says: a TCP socket's until its
// SO_LINGER is over (socket(7)). A signal ends the wait, and the close is done all the same.
func Hurry(do func()) {
	slots <- struct{}{}
	defer func() { <-slots }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := unix.Gettid()
	hurried.mu.Lock()
	hurried.threads = append(hurried.threads, hurry{tid, time.Now()})
	if !hurried.watched {
		hurried.watched = true
		// ends when it looks and nobody is in Hurry.
		go watchHurried()
	}
	hurried.mu.Unlock()
	do()
	hurried.mu.Lock()
	hurried.threads = slices.DeleteFunc(hurried.threads, func(h hurry) bool { return h.tid == tid })
	hurried.mu.Unlock()
}

// watchHurried signals who is in Hurry for too long, again and again: one may make many
// system calls that wait.
func watchHurried() {
	tick := time.NewTicker(impatience)
	defer tick.Stop()
	for range tick.C {
		hurried.mu.Lock()
		for _, h := range hurried.threads {
			if time.Since(h.since) >= impatience {
				unix.Tgkill(unix.Getpid(), h.tid, unix.SIGURG) // to which the Go runtime does nothing that matters
			}
		}
		idle := len(hurried.threads) == 0
		hurried.watched = !idle
		hurried.mu.Unlock()
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
	Hurry(func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	})
}
