// SPDX-License-Identifier: Apache-2.0

package job

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

// TestShowLogOfPipe: a named pipe in place of a log is an error at once.
func TestShowLogOfPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "watch.log")
	err := exectest.WithFIFO(t, path, func() error { return showLog(t.Context(), io.Discard, path, logsOptions{tail: "all"}) })
	if err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("it says %v", err)
	}
}
