// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"encoding/json"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// save writes the session's record.
func (w *Watcher) save() error {
	w.remember()
	return w.store.Save(&w.rec)
}

// remember keeps the record for restore, which runs in another goroutine.
func (w *Watcher) remember() {
	if b, err := json.Marshal(w.rec); err == nil {
		w.saved.Store(&b)
	}
}

// restoreServed is restore while the session is served: after that its folder may be removed.
func (w *Watcher) restoreServed() {
	select {
	case <-w.serving:
	default:
		w.restore()
	}
}

// restore writes the record anew when it cannot be read.
func (w *Watcher) restore() {
	if _, err := w.store.Load(w.id); err == nil {
		return
	}
	var rec state.Session
	err := json.Unmarshal(*w.saved.Load(), &rec)
	if err == nil {
		err = w.store.Save(&rec)
	}
	w.log.Warn("the session's record was damaged", "rewritten", err == nil, "error", err)
}
