// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/dir/dirtest"
)

// onDiskOf gives the shells of r a small disk.
func onDiskOf(t *testing.T, r *fixture, options string) {
	t.Helper()
	check(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	check(t, os.MkdirAll(filepath.Dir(r.Dir), 0o700))
	at := filepath.Dir(r.Dir)
	check(t, unix.Mount("none", at, "tmpfs", 0, options))
	t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
}

// A text whose output was lost on a full disk says so, whatever its exit code. Others do not.
func TestFullDiskIsReported(t *testing.T) {
	if !dirtest.OwnMounts(t) {
		return
	}
	r := newFixture(t)
	onDiskOf(t, r, "size=1m")
	s := r.shell(t, "one")
	for _, tt := range []struct {
		text string
		full bool
	}{
		{`echo all of it`, false},
		{`head -c 3000000 /dev/zero 2>/dev/null; true`, true},
		{`echo all of it`, false},
	} {
		for _, how := range []func(context.Context, StartConfig, Command, Output) (int, error){s.Exec, s.Start} {
			ctx, cancel := patient(t.Context())
			var out bytes.Buffer
			var full error
			code, err := how(ctx, r.config, Command{ID: newID(), Text: tt.text}, Output{Out: &out, Err: &out, Full: func(err error) { full = err }})
			cancel()
			if code != 0 || err != nil || tt.full != errors.Is(full, syscall.ENOSPC) {
				t.Errorf("%s: %d, %v; told %v, want %v", tt.text, code, err, full, tt.full)
			}
		}
	}
}

// fillInodes makes files until there can be no more.
func fillInodes(dir string) {
	for i := range 100 {
		f, err := os.Create(filepath.Join(dir, "f"+strconv.Itoa(i+1)))
		if err != nil {
			return
		}
		f.Close()
	}
}

// A text that uses up all inodes ends with its own code, and its shell goes on when there are some again.
//
// Attack 139.
func TestNoInodes(t *testing.T) {
	if !dirtest.OwnMounts(t) {
		return
	}
	r := newFixture(t)
	onDiskOf(t, r, "nr_inodes=64")
	s := r.shell(t, "one")
	fill := `for i in {1..100}; do : >` + filepath.Dir(r.Dir) + `/f$i; done 2>/dev/null; (exit 7)`
	for _, how := range []func(context.Context, StartConfig, Command, Output) (int, error){s.Exec, s.Start} {
		if got := r.run(t.Context(), how, Command{Text: fill}); got.code != 7 || got.failed != nil {
			t.Errorf("%+v, want code 7", got)
		}
		fillInodes(filepath.Dir(r.Dir)) // what the text before had is free
		if got := r.run(t.Context(), how, Command{Text: `(exit 7)`}); got.code != 7 && !errors.Is(got.failed, syscall.ENOSPC) {
			t.Errorf("without an inode from the start: %+v", got)
		}
		for i := range 100 {
			os.Remove(filepath.Join(filepath.Dir(r.Dir), "f"+strconv.Itoa(i+1))) // most are there
		}
		if got := r.text(t, s, `echo back`); got.out != "back\n" {
			t.Errorf("with inodes again: %+v", got)
		}
	}
	left, err := os.ReadDir(filepath.Join(r.Dir, "done"))
	check(t, err)
	for _, e := range left {
		t.Errorf("left: %s", strings.TrimSpace(e.Name()))
	}
}
