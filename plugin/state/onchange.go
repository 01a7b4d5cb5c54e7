// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Between two calls of f at least minPause passes, because f may read the records of thousands of sessions. Changes in
// between are reported together. Without a notification, f is called after maxPause.
const (
	minPause = 50 * time.Millisecond
	maxPause = time.Second
)

// OnChange calls f, and again each time that sessions have changed (see Changed), wake has a value, or maxPause has
// passed. It returns when ctx is done. Calls of f do not overlap.
func (s *Store) OnChange(ctx context.Context, wake <-chan struct{}, f func()) {
	changes := make(chan struct{}, 1)
	if w, err := fsnotify.NewWatcher(); err == nil {
		_ = w.Add(s.sessions()) // without notifications, maxPause remains
		done := make(chan struct{})
		defer func() {
			w.Close()
			<-done
		}()
		// Ends when w is closed, above.
		go func() {
			defer close(done)
			forward(w, changes)
		}()
	}
	for {
		f()
		early, late := time.NewTimer(minPause), time.NewTimer(maxPause)
		select {
		case <-early.C:
		case <-ctx.Done():
			return
		}
		select {
		case <-changes:
		case <-wake:
		case <-late.C:
		case <-ctx.Done():
			return
		}
	}
}

// forward sends to changes, which has a buffer of one, for all that w reports until w is closed.
func forward(w *fsnotify.Watcher, changes chan<- struct{}) {
	for {
		select {
		case _, ok := <-w.Events:
			if !ok {
				return
			}
		case _, ok := <-w.Errors: // notifications were lost
			if !ok {
				return
			}
		}
		select {
		case changes <- struct{}{}:
		default: // one is pending
		}
	}
}
