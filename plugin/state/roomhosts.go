// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func (s *Store) roomHosts() string { return filepath.Join(s.Home, "room-hosts") }

// RoomHosts returns the engines, other than the sessions' own, at which containers of
// commands may have been left.
func (s *Store) RoomHosts() ([]string, error) {
	b, err := os.ReadFile(s.roomHosts())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the engines: %w", err)
	}
	hosts := strings.Fields(string(b))
	slices.Sort(hosts)
	return slices.Compact(hosts), nil
}

// NoteRoomHost writes host down as one of RoomHosts, before anything is made there. It has no
// space in it.
func (s *Store) NoteRoomHost(host string) error {
	hosts, err := s.RoomHosts()
	if err != nil || slices.Contains(hosts, host) {
		return err
	}
	// One write of one line: two that come at once both stay, and twice is once.
	f, err := os.OpenFile(s.roomHosts(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("note the engine %s: %w", host, err)
	}
	_, err = f.WriteString(host + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("note the engine %s: %w", host, err)
	}
	return nil
}
