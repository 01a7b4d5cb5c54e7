// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestFillUmask fills a share with umask 077. Every user in a container must be able to read it.
func TestFillUmask(t *testing.T) {
	store := &state.Store{Home: t.TempDir()}
	defer syscall.Umask(syscall.Umask(0o077))
	rec := &state.Session{ID: state.NewID()}
	dir := store.Dir(rec.ID)
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := store.Create(rec); err != nil {
		t.Fatal(err)
	}
	if err := FillShare(store.Home, dir, runtime.GOARCH, Content{Names: []string{"make"}, Client: []byte("#!/bin/sh\n"), Pass: []string{"CI"}}); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(state.ShareDir(dir), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Type() == fs.ModeSymlink {
			return err
		}
		fi, err := e.Info()
		want := fs.FileMode(0o004)
		if e.IsDir() {
			want = 0o005
		}
		if err == nil && fi.Mode()&want != want {
			t.Errorf("%s has mode %v", path, fi.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if fi, err := os.Stat(state.RequestsDir(dir)); err != nil || fi.Mode().Perm() != 0o711 {
		t.Errorf("requests are in %v, %v, want mode 0711", fi, err)
	}
}
