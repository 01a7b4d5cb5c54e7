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

// Written returns the host paths that the containers of all sessions except one can write, in order. It decodes
// nothing else, because watchers call it after every change of a session, and there can be hundreds of sessions.
func (s *Store) Written(except string) ([]string, error) {
	ids, err := s.IDs()
	var paths []string
	for _, id := range ids {
		if id != except {
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
	spare, _ := s.Load(id) // without a readable record, nothing is known, and List skips the session, too
	return spare.Writable
}
