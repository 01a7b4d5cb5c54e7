// SPDX-License-Identifier: Apache-2.0

package devcontainer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// linkShare creates the link to the session's share that the mount in devcontainer.json names.
func linkShare(store *state.Store, rec state.Session) error {
	at := store.DevContainerShare(rec.DevContainer.Project, rec.DevContainer.Name)
	target := state.ShareDir(store.Dir(rec.ID))
	if old, err := os.Readlink(at); err == nil && old == target {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	fi, err := os.Lstat(at)
	if err == nil && fi.Mode().Type() != fs.ModeSymlink {
		return cli.Hint(fmt.Errorf("%s is not a link: the engine may have created it before the initializeCommand ran", at), "remove it")
	}
	if err == nil {
		err = os.Remove(at)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(target, at)
}

// PruneShares removes the links to shares that do not exist any more.
func PruneShares(store *state.Store) error {
	links, err := filepath.Glob(store.DevContainerShare("*", "*"))
	for _, at := range links {
		if _, serr := os.Stat(at); !errors.Is(serr, fs.ErrNotExist) {
			continue
		}
		if rerr := os.Remove(at); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
		_ = os.Remove(filepath.Dir(at)) // fails if the directory has other links
	}
	return err
}
