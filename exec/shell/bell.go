// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// polling is how often it is looked for what no notification has told of: there may be none
// on this file system, or no watch to be had.
const polling = 50 * time.Millisecond

// bell rings for a command when a file of its has been renamed into dir.
type bell struct {
	dir    string
	events *fsnotify.Watcher // nil where the system has none left
	wg     sync.WaitGroup

	mu    sync.Mutex // guards the field below
	heard map[string]chan struct{}
}

func newBell(dir string) *bell {
	b := &bell{dir: dir, heard: map[string]chan struct{}{}}
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
	b.wg.Go(b.ring)
	return b
}

func (b *bell) ring() {
	for {
		select {
		case e, ok := <-b.events.Events:
			if !ok {
				return
			}
			id, ext, _ := strings.Cut(filepath.Base(e.Name), ".")
			if kind, _, _ := strings.Cut(ext, "."); kind == "exit" || kind == "pid" { // which may have the value behind it
				b.tell(id)
			}
		case _, ok := <-b.events.Errors: // polling sees what was lost
			if !ok {
				return
			}
		}
	}
}

func (b *bell) tell(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.heard[id] <- struct{}{}:
	default: // nobody listens, or is told already
	}
}

// listen returns what receives when there may be news of command id, until forget.
func (b *bell) listen(id string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := make(chan struct{}, 1)
	b.heard[id] = c
	return c
}

func (b *bell) forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.heard, id)
}

func (b *bell) close() {
	if b.events != nil {
		b.events.Close()
		b.wg.Wait()
	}
}
