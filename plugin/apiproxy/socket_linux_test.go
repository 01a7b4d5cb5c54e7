// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

// TestPrunePipes checks that a named pipe in place of a killed proxy's file does not block, and is removed.
func TestPrunePipes(t *testing.T) {
	for _, file := range []func(string) string{contextFile, runtimeFile} {
		folder := t.TempDir()
		s := flock.New(filepath.Join(folder, "lock"))
		if err := errors.Join(s.Lock(), s.Close()); err != nil {
			t.Fatal(err)
		}
		if err := exectest.WithFIFO(t, file(folder), func() error { return pruneDir(folder, nil) }); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(folder); !os.IsNotExist(err) {
			t.Errorf("%s stays: %v", folder, err)
		}
	}
}
