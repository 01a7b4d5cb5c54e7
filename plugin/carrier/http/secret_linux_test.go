// SPDX-License-Identifier: Apache-2.0

package http

import (
	"path/filepath"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

// TestKeyOfPipe: a named pipe in place of a key is an error at once.
func TestKeyOfPipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := exectest.WithFIFO(t, file, func() error { _, err := LoadSecret(file); return err }); err == nil {
		t.Error("the pipe is read")
	}
}
