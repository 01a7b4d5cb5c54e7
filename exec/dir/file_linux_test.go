// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenPlain replaces a file by each kind of file that a container can make.
//
// Attack 68.
func TestOpenPlain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		plant func(path string) error
		want  error // nil: it is opened
	}{
		{"a file", func(path string) error { return os.WriteFile(path, []byte("text"), 0o600) }, nil},
		{"nothing", func(string) error { return nil }, fs.ErrNotExist},
		{"a link", func(path string) error { return os.Symlink("/etc/passwd", path) }, errNotPlain},
		{"a link to itself", func(path string) error { return os.Symlink(path, path) }, errNotPlain},
		{"a link to no file", func(path string) error { return os.Symlink("/proc/self/fd/999", path) }, errNotPlain},
		{"a directory", func(path string) error { return os.Mkdir(path, 0o700) }, errNotPlain},
		{"a pipe", func(path string) error { return unix.Mkfifo(path, 0o600) }, errNotPlain},
		{"a socket", func(path string) error {
			l, err := net.Listen("unix", path)
			if err == nil {
				t.Cleanup(func() { l.Close() })
			}
			return err
		}, errNotPlain},
		// Of a driver that there is not: whoever opens it is told ENXIO.
		{"a device", func(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(240, 77))) }, errNotPlain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if err := tt.plant(path); errors.Is(err, syscall.EPERM) && os.Getuid() != 0 {
				return // only root can make a device node
			} else if err != nil {
				t.Fatal(err)
			}
			if b, err := ReadPlain(path); !errors.Is(err, tt.want) || (err == nil) != (string(b) == "text") {
				t.Errorf("ReadPlain = %q, %v, want %v", b, err, tt.want)
			}
			f, err := OpenPlain(path)
			if !errors.Is(err, tt.want) {
				t.Fatalf("OpenPlain = %v, want %v", err, tt.want)
			}
			if err != nil {
				return
			}
			defer f.Close()
			if b, err := io.ReadAll(f); string(b) != "text" || err != nil {
				t.Errorf("read %q, %v", b, err)
			}
		})
	}
}

// TestOpenRegular checks that links are followed, and that nothing but a regular file is opened: opening a pipe waits for
// its writer.
func TestOpenRegular(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(at("file"), []byte("text"), 0o600), unix.Mkfifo(at("pipe"), 0o700),
		os.Symlink("file", at("link")), os.Symlink("pipe", at("pipeLink"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"file": nil, "link": nil, "pipe": errNotPlain, "pipeLink": errNotPlain, ".": errNotPlain, "none": fs.ErrNotExist,
	} {
		f, err := OpenRegular(at(name))
		if !errors.Is(err, want) {
			t.Errorf("OpenRegular(%s) = %v, want %v", name, err, want)
		}
		if err != nil {
			continue
		}
		if b, err := io.ReadAll(f); string(b) != "text" || err != nil {
			t.Errorf("read %s: %q, %v", name, b, err)
		}
		f.Close()
	}
}

// TestReadPlainLimit: a large file is an error, and is not read whole.
func TestReadPlainLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, maxPlain)); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadPlain(path); len(b) != maxPlain || err != nil {
		t.Errorf("ReadPlain = %d bytes, %v", len(b), err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPlain(path); err == nil {
		t.Error("a file of 1 TiB is read")
	}
}

// TestOpenLeased opens files with a lease, which a container can take by itself: the open does not
// wait.
//
// Attacks 65, 185.
func TestOpenLeased(t *testing.T) {
	work := t.TempDir()
	path := filepath.Join(work, "f")
	holder, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	lease := func() {
		t.Helper()
		if _, err := unix.FcntlInt(holder.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
			t.Fatalf("leases, which every disk and tmpfs has: %v", err)
		}
	}
	lease()
	if _, err := OpenPlain(path); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("OpenPlain = %v, want %v", err, unix.EWOULDBLOCK)
	}
	if _, err := unix.FcntlInt(holder.Fd(), unix.F_SETLEASE, unix.F_UNLCK); err != nil {
		t.Fatal(err)
	}
	lease()
	d, err := Open(work)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, err := d.File("f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Open(); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("Open = %v, want %v", err, unix.EWOULDBLOCK)
	}
}
