// SPDX-License-Identifier: Apache-2.0

package osenv

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// TestProgramPipe has a named pipe with the mode of a program first in PATH. A session with the pipe as its program hung
// all starts of sessions, which open programs to check them.
func TestProgramPipe(t *testing.T) {
	dir := t.TempDir()
	want := program(t, filepath.Join(dir, "b/make"), 0o755)
	program(t, filepath.Join(dir, "a/other"), 0o755)
	pipe := filepath.Join(dir, "a/make")
	if err := syscall.Mkfifo(pipe, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, _ := LookPath("make", dir+"/a:"+dir+"/b"); got != want {
		t.Errorf("LookPath = %q, want %q", got, want)
	}
	if got, ok := LookPath(pipe, ""); ok {
		t.Errorf("LookPath of the pipe = %q, want none", got)
	}
	if err := CheckProgram(pipe); !errors.Is(err, errNotRegular) {
		t.Errorf("CheckProgram = %v, want %v", err, errNotRegular)
	}
}
