// SPDX-License-Identifier: Apache-2.0

package job

import (
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestShowLogOfPipe: a named pipe in place of a log is an error at once.
func TestShowLogOfPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "watch.log")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	// ends when showLog does; the test fails if that needs another process.
	go func() { ended <- showLog(t.Context(), io.Discard, path, logsOptions{tail: "all"}) }()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("it says %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it blocks")
	}
}
