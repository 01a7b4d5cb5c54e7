// SPDX-License-Identifier: Apache-2.0

package state

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// SandboxDirs are the directories that programs in a sandbox have for themselves.
type SandboxDirs struct {
	Home string // of one project; it stays
	Tmp  string // of one session
}

// SandboxDirs returns the directories for the session with the folder session, which works in workspace. It
// creates them.
func (s *Store) SandboxDirs(session, workspace string) (SandboxDirs, error) {
	sum := sha256.Sum256([]byte(workspace))
	d := SandboxDirs{
		Home: filepath.Join(s.Home, "sandbox", hex.EncodeToString(sum[:8])),
		Tmp:  filepath.Join(session, "tmp"),
	}
	for _, dir := range []string{d.Home, d.Tmp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return d, fmt.Errorf("make a directory for the sandbox: %w", err)
		}
	}
	return d, nil
}
