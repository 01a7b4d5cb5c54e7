// SPDX-License-Identifier: Apache-2.0

package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// GitMirrorsDir returns the directory with the mirrors of git remotes, and the remotes that a person has added.
func (s *Store) GitMirrorsDir() string { return filepath.Join(s.Home, "git") }

// gitRemotes is the file of the remotes that a person has added for a project.
type gitRemotes struct {
	Project string            `json:"project"` // path of the directory where sessions were started
	Remotes map[string]string `json:"remotes"` // URLs by name
}

func (s *Store) gitRemotesFile(project string) string {
	sum := sha256.Sum256([]byte(project))
	return filepath.Join(s.GitMirrorsDir(), "added", hex.EncodeToString(sum[:8])+".json")
}

// GitRemotes returns the URLs of the remotes that a person has added for a project, by name. A
// file that cannot be read has none.
func (s *Store) GitRemotes(project string) map[string]string {
	b, err := dir.ReadPlain(s.gitRemotesFile(project))
	var read gitRemotes
	if err != nil || json.Unmarshal(b, &read) != nil || read.Project != project {
		return nil
	}
	return read.Remotes
}

// AddGitRemote keeps a remote that a person has added for a project. Sessions of a project share its file.
func (s *Store) AddGitRemote(project, name, url string) error {
	file := s.gitRemotesFile(project)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	lock := NewLock(file + lockSuffix)
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock the added remotes: %w", err)
	}
	defer lock.Close()
	all := gitRemotes{Project: project, Remotes: map[string]string{name: url}}
	for n, u := range s.GitRemotes(project) {
		if n == name && u != url {
			return fmt.Errorf("the remote %s has another URL: %w", n, fs.ErrExist)
		}
		all.Remotes[n] = u
	}
	b, err := json.MarshalIndent(all, "", "  ")
	return errors.Join(err, dir.Replace(file, append(b, '\n'), 0o600))
}
