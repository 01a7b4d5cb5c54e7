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
)

// Commands of one session may run files that the container of another session can write. The records of all
// sessions contain their mounts. A session without a watcher counts: its container may run, and its files stay.

// Changed returns a time that is another one whenever a session was saved, added or removed since.
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

// Others returns all sessions but the one with that id, oldest first.
func (s *Store) Others(id string) ([]Session, error) {
	all, err := s.List()
	return slices.DeleteFunc(all, func(rec Session) bool { return rec.ID == id }), err
}

// Written returns the host paths that the containers of all sessions but the one with that id can write, in order. It
// decodes nothing else of a record: watchers ask whenever a session has changed, and there can be hundreds.
func (s *Store) Written(butNot string) ([]string, error) {
	ids, err := s.IDs()
	var paths []string
	for _, id := range ids {
		if id != butNot {
			paths = append(paths, s.writtenBy(id)...)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), err
}

// writtenBy returns the host paths that the container of session id can write.
func (s *Store) writtenBy(id string) []string {
	var rec struct {
		ID       string
		Writable []string
	}
	text, err := readPlain(filepath.Join(s.Dir(id), record))
	if err == nil {
		err = json.Unmarshal(text, &rec)
	}
	if err == nil && rec.ID == id {
		return rec.Writable
	}
	spare, _ := s.Load(id) // without a record that can be read, nothing is known: List skips the session, too
	return spare.Writable
}
