// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/dir/dirtest"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestFilesFullDisk fills the disk with the output of a call: its caller and the log learn which directory is full.
func TestFilesFullDisk(t *testing.T) {
	if !dirtest.OwnMounts(t) {
		return
	}
	at := t.TempDir()
	for _, err := range []error{unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("none", at, "tmpfs", 0, "size=1m")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
	box, err := dir.MakeUntrustedDir(at, "make", dir.ForOwner)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	l, err := Listen([]RequestDir{{Dir: box, Commands: []string{"make"}, Cwd: func() string { return "/" }}}, slog.New(slog.NewTextHandler(&log, nil)), new(limit.Session))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at, "make", "a.tmp"), []byte("all\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(at, "make", "a.tmp"), filepath.Join(at, "make", "a.req")); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := wire.ReadFrame(conn, make([]byte, wire.MaxExec)); err != nil {
		t.Fatal(err)
	}
	go func() { // ends when the call has
		for {
			if _, err := conn.Write(wire.AppendFrame(nil, wire.KindStdout, make([]byte, 32<<10))); err != nil {
				return
			}
		}
	}()
	go func() { // ends with conn
		for {
			if _, _, err := wire.ReadFrame(conn, make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	exit := filepath.Join(at, "make", "a.exit")
	for _, err := os.Stat(exit); err != nil; _, err = os.Stat(exit) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the caller gets no exit code")
		}
	}
	conn.Close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	want := "no space left in " + filepath.Join(at, "make")
	if status := read(t, filepath.Join(at, "make", "a.status")); !strings.Contains(status, want) {
		t.Errorf("status: %q, want %q", status, want)
	}
	if !strings.Contains(log.String(), "no space left\" directory="+filepath.Join(at, "make")) {
		t.Errorf("the log does not name the directory: %q", log.String())
	}
	if code := read(t, exit); code != "125\n" {
		t.Errorf("exit code %q, want 125", code)
	}
}

// TestScriptFullDisk calls the script while the disk has no space for the request, and then for none of its files. The
// script says so in one line, and leaves no files.
func TestScriptFullDisk(t *testing.T) {
	if !dirtest.OwnMounts(t) {
		return
	}
	at := t.TempDir()
	dirtest.Mount(t, "none", at, "tmpfs", 0, "size=64k")
	script := filepath.Join(t.TempDir(), "make")
	putFile(t, script, Client{Command: "make", Dir: at}.Script(), 0o755)
	for _, tt := range []struct {
		name string
		free int // pages of 4 KiB
		args int // bytes
	}{{"no page", 0, 100}, {"part of the request", 1, 20_000}, {"only the arguments", 1, 100}} {
		if err := os.WriteFile(at+"/filler", make([]byte, 64<<10-tt.free*4<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), script, strings.Repeat("x", tt.args))
		out, _ := cmd.CombinedOutput()
		want := "hostexec: make: the request cannot be written: no space left in " + at + "\n"
		if code := cmd.ProcessState.ExitCode(); code != 125 || string(out) != want {
			t.Errorf("%s: code %d, %q, want 125, %q", tt.name, code, out, want)
		}
		if left, err := os.ReadDir(at); err != nil || len(left) != 1 {
			t.Errorf("%s: it leaves %v, %v", tt.name, left, err)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
