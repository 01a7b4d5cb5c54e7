// SPDX-License-Identifier: Apache-2.0

package calltest

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/job"
)

// InfoOf returns the description of a job.
func InfoOf(t *testing.T, s *call.Server, id string) job.Info {
	t.Helper()
	kept, err := s.Jobs.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	return kept.Info()
}

// Alive creates a FIFO. It returns the start of a script that holds the FIFO's write end. The returned function waits
// until all processes of that script have ended.
func Alive(t *testing.T) (hold string, gone func()) {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "alive")
	if err := MakeFIFO(fifo); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0) // so that a writer does not wait for this
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return "exec 3>" + fifo + "; ", func() {
		t.Helper()
		if n, err := f.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("read = %d, %v, want EOF: somebody still has the pipe", n, err)
		}
	}
}

// MakeFIFO creates a FIFO.
func MakeFIFO(path string) error { return unix.Mkfifo(path, 0o600) }

// Audited returns the lines of the audit log that contain word.
func Audited(t *testing.T, log, word string) (lines []string) {
	t.Helper()
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return lines
}
