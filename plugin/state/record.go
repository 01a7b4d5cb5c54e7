// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// A session's directory has two copies of its record. If one is damaged, the other replaces it.
const (
	record      = "session.json"
	spareRecord = "session.spare.json"
	damaged     = "session.damaged" // the damaged record that was replaced
)

var idForm = names.Form{Chars: "0-9a-f", Min: 12, Max: 12}

// Save writes rec atomically: a reader sees the old record or the new one. Then Changed returns a new time.
func (s *Store) Save(rec *Session) error {
	b, err := json.MarshalIndent(rec, "", "  ")
	if err == nil {
		err = s.put(rec.ID, spareRecord, append(b, '\n'))
	}
	if err == nil {
		err = s.put(rec.ID, record, append(b, '\n'))
	}
	if err == nil {
		err = s.noteChange()
	}
	if err != nil {
		return fmt.Errorf("write session %s: %w", rec.ID, err)
	}
	return nil
}

// noteChange makes Changed return a new time.
func (s *Store) noteChange() error {
	root, err := os.OpenRoot(s.Home)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.Chtimes(filepath.Base(s.sessions()), time.Time{}, time.Now())
}

// put replaces a file in session id's directory. Anything else with that name is renamed.
func (s *Store) put(id, name string, text []byte) error {
	path := filepath.Join(s.Dir(id), name)
	if fi, err := os.Lstat(path); err == nil && !fi.Mode().IsRegular() {
		if err := s.setAside(id, name); err != nil {
			return err
		}
	}
	return dir.Replace(path, text, 0o600)
}

// setAside renames a damaged record, so that the user can inspect it.
func (s *Store) setAside(id, name string) error {
	to := filepath.Join(s.Dir(id), damaged)
	if os.RemoveAll(to) != nil { // a directory of another user
		to += "." + NewID()
	}
	err := os.Rename(filepath.Join(s.Dir(id), name), to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Load reads session id. If the record is damaged, Load replaces it by the spare one.
func (s *Store) Load(id string) (Session, error) {
	if !idForm.Matches(id) {
		return Session{}, fmt.Errorf("read session %s: not a session id", names.Quoted(id))
	}
	rec, _, err := s.read(id, record)
	if err == nil {
		return rec, nil
	}
	spare, text, serr := s.read(id, spareRecord)
	if serr != nil {
		return Session{}, fmt.Errorf("read session %s: %w", id, err)
	}
	// A user without write access continues to read the spare record.
	if s.setAside(id, record) == nil {
		_ = s.put(id, record, text)
	}
	return spare, nil
}

// read reads a record of session id, and returns its text, too.
func (s *Store) read(id, name string) (rec Session, text []byte, err error) {
	if text, err = dir.ReadPlain(filepath.Join(s.Dir(id), name)); err == nil {
		err = json.Unmarshal(text, &rec)
	}
	if err == nil && rec.ID != id {
		err = fmt.Errorf("the record is of %s", names.Quoted(rec.ID))
	}
	return rec, text, err
}
