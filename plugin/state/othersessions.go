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

// What the container of one session can write, commands of another one may run. Records tell of all
// sessions. A session without a watcher counts: its container may run, and what it wrote stays.

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
