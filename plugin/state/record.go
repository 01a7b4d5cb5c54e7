// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/spelling"
)

// A session's folder has its record twice: a damaged one is replaced by the other.
const (
	record      = "session.json"
	spareRecord = "session.spare.json"
	damaged     = "session.damaged" // what was in the place of a record that was replaced
)

// maxRecord is more bytes than a record can have.
const maxRecord = 16 << 20

var idForm = spelling.Form{Of: "0-9a-f", Min: 12, Max: 12}

// Save writes rec in one step: a reader sees the old record or the new one.
func (s *Store) Save(rec *Session) error {
	b, err := json.MarshalIndent(rec, "", "  ")
	if err == nil {
		err = s.put(rec.ID, spareRecord, append(b, '\n'))
	}
	if err == nil {
		err = s.put(rec.ID, record, append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write session %s: %w", rec.ID, err)
	}
	return nil
}

// put writes a file of session id's folder, in place of whatever has its name. A directory is
// set aside.
func (s *Store) put(id, name string, text []byte) error {
	path := filepath.Join(s.Dir(id), name)
	if fi, err := os.Lstat(path); err == nil && fi.IsDir() {
		if err := s.setAside(id, name); err != nil {
			return err
		}
	}
	tmp, err := os.CreateTemp(s.Dir(id), ".session-*") // 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// setAside keeps a damaged record for a person who wants to look at it.
func (s *Store) setAside(id, name string) error {
	to := filepath.Join(s.Dir(id), damaged)
	if os.RemoveAll(to) != nil { // a directory of another user's
		to += "." + NewID()
	}
	err := os.Rename(filepath.Join(s.Dir(id), name), to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Load reads session id. A record that was damaged is replaced by the spare one.
func (s *Store) Load(id string) (Session, error) {
	if !idForm.Matches(id) {
		return Session{}, fmt.Errorf("read session %q: not a session id", id)
	}
	rec, _, err := s.read(id, record)
	if err == nil {
		return rec, nil
	}
	spare, text, serr := s.read(id, spareRecord)
	if serr != nil {
		return Session{}, fmt.Errorf("read session %s: %w", id, err)
	}
	// A user who cannot write here reads the spare one the next time, too.
	if s.setAside(id, record) == nil {
		_ = s.put(id, record, text)
	}
	return spare, nil
}

// read reads a record of session id from a regular file. It follows no link, and does not wait for a
// named pipe.
func (s *Store) read(id, name string) (rec Session, text []byte, err error) {
	f, err := openPlain(filepath.Join(s.Dir(id), name))
	if err != nil {
		return rec, nil, err
	}
	defer f.Close()
	if text, err = io.ReadAll(io.LimitReader(f, maxRecord)); err == nil {
		err = json.Unmarshal(text, &rec)
	}
	if err == nil && rec.ID != id {
		err = fmt.Errorf("the record is of %q", rec.ID)
	}
	return rec, text, err
}

// openPlain opens a regular file that is no larger than a record can be.
func openPlain(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|plainly, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	switch {
	case err == nil && !fi.Mode().IsRegular():
		err = errors.New("not a regular file")
	case err == nil && fi.Size() > maxRecord:
		err = fmt.Errorf("more than %d MiB", maxRecord>>20)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
