// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// Commands of one session may run files that the container of another session can write. The records of all
// sessions contain their mounts. A session without a watcher counts: its container may run, and its files stay.

// Changed returns a time. It is a different one after each change of a session, and after a session was added or
// removed.
func (s *Store) Changed() (time.Time, error) {
	fi, err := os.Stat(s.sessions())
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("look at sessions: %w", err)
	}
	return fi.ModTime(), nil
}

// Others returns all sessions except id, oldest first.
func (s *Store) Others(id string) ([]Session, error) {
	all, err := s.List()
	return slices.DeleteFunc(all, func(rec Session) bool { return rec.ID == id }), err
}

// WritablePaths are host paths that code of sessions can write, in order.
type WritablePaths struct {
	Containers []string // by mounts
	Sandboxes  []string // by the configuration of commands in sandboxes
}

func (w WritablePaths) All() []string { return slices.Concat(w.Containers, w.Sandboxes) }

// WritableByOthers returns the host paths that code of all sessions except one can write. It decodes nothing else,
// because watchers call it after every change of a session, and there can be hundreds of sessions.
func (s *Store) WritableByOthers(except string) (w WritablePaths, err error) {
	ids, err := s.IDs()
	for _, id := range ids {
		if id != except {
			rec := s.writtenBy(id)
			w.Containers = append(w.Containers, rec.Writable...)
			w.Sandboxes = append(w.Sandboxes, rec.SandboxWrites...)
		}
	}
	for _, list := range []*[]string{&w.Containers, &w.Sandboxes} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return w, err
}

// sessionWrites is the part of a record that WritableByOthers decodes.
type sessionWrites struct {
	ID            string
	Writable      []string
	SandboxWrites []string `json:"sandbox_writes"`
}

// writtenBy returns the host paths that code of session id can write.
func (s *Store) writtenBy(id string) (rec sessionWrites) {
	text, err := dir.ReadPlain(filepath.Join(s.Dir(id), record))
	if err == nil {
		err = json.Unmarshal(text, &rec)
	}
	if err == nil && rec.ID == id {
		return rec
	}
	spare, _ := s.Load(id) // without a readable record, nothing is known, and List skips the session, too
	return sessionWrites{id, spare.Writable, spare.SandboxWrites}
}
