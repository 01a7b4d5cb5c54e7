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

	"github.com/docker-hostexec/hostexec/exec/dir"
)

func (s *Store) callEngines() string { return filepath.Join(s.Home, "call-engines") }

// CallEngines returns the engines, other than the sessions' own, that may still have call containers.
func (s *Store) CallEngines() ([]string, error) {
	b, err := dir.ReadPlain(s.callEngines())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the engines: %w", err)
	}
	hosts := strings.Fields(string(b))
	slices.Sort(hosts)
	return slices.Compact(hosts), nil
}

// AddCallEngine adds host to CallEngines. It is called before a container is created there. host contains no
// spaces.
func (s *Store) AddCallEngine(host string) error {
	hosts, err := s.CallEngines()
	if err != nil || slices.Contains(hosts, host) {
		return err
	}
	// One write appends one line, so concurrent writes do not overwrite each other. Duplicates are harmless.
	f, err := os.OpenFile(s.callEngines(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("record the engine %s: %w", host, err)
	}
	_, err = f.WriteString(host + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("record the engine %s: %w", host, err)
	}
	return nil
}
