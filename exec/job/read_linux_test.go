// SPDX-License-Identifier: Apache-2.0

package job

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/exectest"
	"github.com/docker-hostexec/hostexec/exec/executor"
)

// TestNamedPipes: a named pipe in place of a file of a job is an error at once.
func TestNamedPipes(t *testing.T) {
	for _, name := range []string{statusFile, combinedFile} {
		t.Run(name, func(t *testing.T) {
			table, dir := open(t)
			j := begin(t, table, id(1), "make")
			end(t, j, Completed, executor.Status{})
			path := filepath.Join(dir, id(1), name)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			err := exectest.WithFIFO(t, path, func() error {
				_, err := Copy(t.Context(), dir, id(1), io.Discard, func() bool { return false })
				_, rerr := Read(dir)
				return errors.Join(err, rerr)
			})
			if err == nil {
				t.Error("the pipe is read")
			}
		})
	}
}
