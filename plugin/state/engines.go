// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Engine is what a handshake has shown of an engine.
type Engine struct {
	ID      string `json:"id"`              // the engine's own
	Carrier string `json:"carrier"`         // that reaches this host from its containers: socket or relay
	Apart   bool   `json:"apart,omitempty"` // it does not see this host's directories
}

// Engine returns what is known of the engine at endpoint. The zero Engine knows nothing.
func (s *Store) Engine(endpoint string) Engine {
	all, _ := s.engines() // what cannot be read is found out again
	return all[endpoint]
}

// Engines returns what is known of each, by its endpoint.
func (s *Store) engines() (map[string]Engine, error) {
	all := map[string]Engine{}
	b, err := os.ReadFile(s.enginesFile())
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) || all == nil {
		return map[string]Engine{}, err
	}
	return all, nil
}

// NoteEngine remembers what was shown of the engine at endpoint; the zero Engine forgets it.
// Of two that note at once the last wins: the other is found out again.
func (s *Store) NoteEngine(endpoint string, e Engine) error {
	all, _ := s.engines()
	if all[endpoint] == e {
		return nil
	}
	all[endpoint] = e
	if e == (Engine{}) {
		delete(all, endpoint)
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("note the engine: %w", err)
	}
	tmp, err := os.CreateTemp(s.Home, ".engines-*") // 0600
	if err != nil {
		return fmt.Errorf("note the engine: %w", err)
	}
	_, err = tmp.Write(append(b, '\n'))
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), s.enginesFile())
	}
	if err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("note the engine: %w", err)
	}
	return nil
}

func (s *Store) enginesFile() string { return filepath.Join(s.Home, "engines.json") }
