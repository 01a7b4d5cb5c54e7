// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// pollInterval is the interval of checks for files without a notification. The file system may have no
// notifications, or the system no watch left.
const pollInterval = 50 * time.Millisecond

// dirWatcher notifies a command when one of its files in dir was written.
type dirWatcher struct {
	dir    string
	events *fsnotify.Watcher // nil if the system has no watch left
	wg     sync.WaitGroup

	mu      sync.Mutex // guards the field below
	waiting map[string]chan struct{}
}

func newDirWatcher(dir string) *dirWatcher {
	b := &dirWatcher{dir: dir, waiting: map[string]chan struct{}{}}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return b
	}
	if err := w.Add(dir); err != nil {
		w.Close()
		return b
	}
	b.events = w
	// ends when the watcher is closed; close does that and waits.
	b.wg.Go(b.wakeAll)
	return b
}

func (b *dirWatcher) wakeAll() {
	for {
		select {
		case e, ok := <-b.events.Events:
			if !ok {
				return
			}
			id, ext, _ := strings.Cut(filepath.Base(e.Name), ".")
			if kind, _, _ := strings.Cut(ext, "."); kind == "exit" || kind == "pid" { // which may have the value behind it
				b.wake(id)
			}
		case _, ok := <-b.events.Errors: // polling finds lost notifications
			if !ok {
				return
			}
		}
	}
}

func (b *dirWatcher) wake(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.waiting[id] <- struct{}{}:
	default: // no goroutine listens, or it is notified already
	}
}

// listen returns a channel that receives when files of command id may have changed, until forget.
func (b *dirWatcher) listen(id string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := make(chan struct{}, 1)
	b.waiting[id] = c
	return c
}

func (b *dirWatcher) forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, id)
}

func (b *dirWatcher) close() {
	if b.events != nil {
		b.events.Close()
		b.wg.Wait()
	}
}
