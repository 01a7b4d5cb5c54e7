// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// SandboxDirs are the private directories of sandboxed programs. They stay: hostexec reads no file that such programs
// have written. It removes only links, and unfinished copies of caches, that are in the way of its own.
type SandboxDirs struct{ Home, Tmp string }

// SandboxDirs returns the directories for sessions that work in workspace and whose containers can write the
// paths writable. It creates them. Sessions with other paths have other directories, because one must not run
// files that another has written.
func (s *Store) SandboxDirs(workspace string, writable []string) (SandboxDirs, error) {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{workspace}, writable...), "\x00")))
	at := filepath.Join(s.Home, "sandbox", hex.EncodeToString(sum[:8]))
	d := SandboxDirs{Home: filepath.Join(at, "home"), Tmp: filepath.Join(at, "tmp")}
	for _, dir := range []string{d.Home, d.Tmp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return d, fmt.Errorf("make a directory for the sandbox: %w", err)
		}
	}
	return d, nil
}

// lockPoll is the interval between attempts to lock a home.
const lockPoll = 10 * time.Millisecond

// Lock waits until no other call changes the home, or until ctx ends. Sessions with the same directories share them. The
// lock's file is beside the home, where no sandboxed program can hold it.
func (d SandboxDirs) Lock(ctx context.Context) (unlock func(), err error) {
	lock := NewLock(filepath.Join(filepath.Dir(d.Home), "home.lock"))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return nil, fmt.Errorf("wait for the sandbox of another call: %w", errors.Join(cmp.Or(context.Cause(ctx), err), lock.Close()))
	}
	return func() { _ = lock.Close() }, nil // the kernel unlocks the file with its last descriptor
}
