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

func (s *Store) engines() string { return filepath.Join(s.Home, "engines") }

// Engines returns the engines, other than the sessions' own, at which containers of
// commands may have been left.
func (s *Store) Engines() ([]string, error) {
	b, err := os.ReadFile(s.engines())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the engines: %w", err)
	}
	hosts := strings.Fields(string(b))
	slices.Sort(hosts)
	return slices.Compact(hosts), nil
}

// NoteEngine writes host down as one of Engines, before anything is made there. It has no
// space in it.
func (s *Store) NoteEngine(host string) error {
	hosts, err := s.Engines()
	if err != nil || slices.Contains(hosts, host) {
		return err
	}
	// One write of one line: two that come at once both stay, and twice is once.
	f, err := os.OpenFile(s.engines(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("note the engine %s: %w", host, err)
	}
	_, err = f.WriteString(host + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("note the engine %s: %w", host, err)
	}
	return nil
}
