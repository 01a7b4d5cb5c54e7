// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/moby/sys/atomicwriter"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// EngineFacts holds what earlier sessions have found out about an engine.
type EngineFacts struct {
	ID          string `json:"id"`              // reported by the engine
	Arch        string `json:"arch,omitempty"`  // of the engine, as Go names it
	Carrier     string `json:"carrier"`         // the carrier that works from its containers: socket or relay; "": unknown
	RemoteFiles bool   `json:"apart,omitempty"` // the engine does not see this host's directories
}

// Engine returns the stored facts about the engine at endpoint, or the zero value if there are none.
func (s *Store) Engine(endpoint string) EngineFacts {
	all, _ := s.engines() // on an error, the next session finds it out again
	return all[endpoint]
}

// engines returns all stored facts by endpoint.
func (s *Store) engines() (map[string]EngineFacts, error) {
	all := map[string]EngineFacts{}
	b, err := dir.ReadPlain(s.enginesFile())
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) || all == nil {
		return map[string]EngineFacts{}, err
	}
	return all, nil
}

// NoteEngine stores the facts about the engine at endpoint; the zero EngineFacts deletes them. Of concurrent calls the
// last one wins; later sessions find out the lost facts again.
func (s *Store) NoteEngine(endpoint string, e EngineFacts) error {
	all, _ := s.engines()
	if all[endpoint] == e {
		return nil
	}
	all[endpoint] = e
	if e == (EngineFacts{}) {
		delete(all, endpoint)
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = atomicwriter.WriteFile(s.enginesFile(), append(b, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("record the engine: %w", err)
	}
	return nil
}

func (s *Store) enginesFile() string { return filepath.Join(s.Home, "engines.json") }
