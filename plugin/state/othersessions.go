// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// Written returns the host paths that the containers of those sessions can write, in order.
func Written(recs []Session) (paths []string) {
	for _, rec := range recs {
		paths = append(paths, rec.Writable...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
