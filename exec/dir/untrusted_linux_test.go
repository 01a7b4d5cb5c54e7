// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/dir/dirtest"
)

const secret = "what no container may see"

// newUntrustedDir returns an UntrustedDir, its path, and a file outside of it.
func newUntrustedDir(t *testing.T) (b *UntrustedDir, at, canary string) {
	t.Helper()
	base := t.TempDir()
	b, err := MakeUntrustedDir(base, "requests/make", ForEveryone)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	canary = filepath.Join(base, "canary")
	if err := os.WriteFile(canary, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return b, filepath.Join(base, "requests/make"), canary
}

// untrustedFiles are the files that a container can create under a name that the host then reads or writes.
var untrustedFiles = []struct {
	name  string
	plant func(path, canary string) error
	dir   bool
	large bool
}{
	{name: "a link to the outside", plant: func(path, canary string) error { return os.Symlink(canary, path) }},
	{name: "a relative link", plant: func(path, _ string) error { return os.Symlink("../../canary", path) }},
	{name: "a link to the environment", plant: func(path, _ string) error { return os.Symlink("/proc/self/environ", path) }},
	{name: "a link that leads nowhere", plant: func(path, canary string) error { return os.Symlink(canary+".new", path) }},
	{name: "a second name of a file", plant: func(path, canary string) error { return os.Link(canary, path) }},
	{name: "a pipe", plant: func(path, _ string) error { return unix.Mkfifo(path, 0o666) }},
	{name: "a socket", plant: func(path, _ string) error {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		if err == nil {
			l.SetUnlinkOnClose(false)
			l.Close()
		}
		return err
	}},
	// No driver has this number, so opening it fails with ENXIO. Without permission to make devices, it is a pipe.
	{name: "a device", plant: func(path, _ string) error {
		if unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(240, 77))) == nil {
			return nil
		}
		return unix.Mkfifo(path, 0o666)
	}},
	{name: "a directory", dir: true, plant: func(path, _ string) error { return os.Mkdir(path, 0o777) }},
	{name: "ten gigabytes of nothing", large: true, plant: func(path, _ string) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Truncate(10<<30), f.Close())
	}},
}

// TestUntrustedDirRefuses checks that Read reads none of untrustedFiles.
//
// Attacks 1, 2, 3, 4, 5, 6, 7, 8.
func TestUntrustedDirRefuses(t *testing.T) {
	for _, tt := range untrustedFiles {
		t.Run(tt.name, func(t *testing.T) {
			b, at, canary := newUntrustedDir(t)
			if err := tt.plant(filepath.Join(at, "x"), canary); err != nil {
				t.Fatal(err)
			}
			text, e, err := b.Read("x", 1<<20)
			if err == nil || len(text) > 0 && !tt.large || e.Regular != tt.large {
				t.Errorf("Read = %d bytes, %+v, %v, want an error", len(text), e, err)
			}
			if TooLong(err) != tt.large {
				t.Errorf("TooLong(%v) = %t", err, !tt.large)
			}
		})
	}
}

// TestUntrustedDirWritesNowhereElse checks that Create replaces each of untrustedFiles, except a directory, and writes
// to no other file.
//
// Attacks 14, 15.
func TestUntrustedDirWritesNowhereElse(t *testing.T) {
	for _, tt := range untrustedFiles {
		t.Run(tt.name, func(t *testing.T) {
			b, at, canary := newUntrustedDir(t)
			path := filepath.Join(at, "x")
			if err := tt.plant(path, canary); err != nil {
				t.Fatal(err)
			}
			f, err := b.Create("x", Entry{UID: os.Geteuid()})
			if tt.dir {
				if err == nil {
					t.Error("Create took the place of a directory")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString("answer"); err != nil {
				t.Fatal(err)
			}
			if text, _, err := b.Read("x", 10); string(text) != "answer" || err != nil {
				t.Errorf("the answer is %q, %v", text, err)
			}
			if text, err := os.ReadFile(canary); string(text) != secret || err != nil {
				t.Errorf("the file outside is %q, %v", text, err)
			}
			if _, err := os.Lstat(canary + ".new"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file was made outside: %v", err)
			}
		})
	}
}

// TestUntrustedDirRemoves checks that Remove removes only the entry itself: no directory, and not the target of a link.
//
// Attack 18.
func TestUntrustedDirRemoves(t *testing.T) {
	b, at, canary := newUntrustedDir(t)
	if err := errors.Join(os.Symlink(filepath.Dir(canary), filepath.Join(at, "link")), os.MkdirAll(filepath.Join(at, "tree/deep"), 0o777)); err != nil {
		t.Fatal(err)
	}
	if err := b.Remove("link"); err != nil {
		t.Error(err)
	}
	if err := b.Remove("tree"); err == nil {
		t.Error("Remove removed a directory")
	}
	for _, path := range []string{canary, filepath.Join(at, "tree/deep")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// TestUntrustedDirIsHeld replaces the directory by a link: files are still made in the held directory, and no directory
// is made or opened through a link.
//
// Attack 16.
func TestUntrustedDirIsHeld(t *testing.T) {
	b, at, canary := newUntrustedDir(t)
	base := filepath.Dir(canary)
	if err := errors.Join(os.Rename(at, at+".old"), os.Symlink("/", at)); err != nil {
		t.Fatal(err)
	}
	f, err := b.Create("x", Entry{UID: -1})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := os.Stat(at + ".old/x"); err != nil {
		t.Error(err)
	}
	for _, rest := range []string{"requests/make", "requests/make/tmp", "../x", "requests/../../x"} {
		if b, err := MakeUntrustedDir(base, rest, ForOwner); err == nil {
			t.Errorf("MakeUntrustedDir(%q) = %s, want an error", rest, b.Path())
		}
	}
}

// TestUntrustedDirModes makes directories for all users and for the owner alone, whatever the umask.
// Existing ones keep their modes.
//
// Attack 126.
func TestUntrustedDirModes(t *testing.T) {
	for _, umask := range []int{0, 0o077} {
		old := unix.Umask(umask)
		defer unix.Umask(old)
		for access, want := range map[Access][2]fs.FileMode{ForOwner: {0o700, 0o700}, ForEveryone: {0o711, 0o777}} {
			base := t.TempDir()
			b, err := MakeUntrustedDir(base, "requests/make", access)
			if err != nil {
				t.Fatal(err)
			}
			b.Close()
			for i, at := range []string{"requests", "requests/make"} {
				fi, err := os.Stat(filepath.Join(base, at))
				if step := b.Steps()[i]; err != nil || fi.Mode().Perm() != want[i] || step != (Step{filepath.Join(base, at), os.Getuid(), want[i]}) {
					t.Errorf("%s has mode %v, %v, and is %+v; want %v", at, fi.Mode(), err, step, want[i])
				}
			}
		}
		base := t.TempDir()
		made := filepath.Join(base, "x")
		if err := errors.Join(os.Mkdir(made, 0o700), os.Chmod(made, 0o770|fs.ModeSticky)); err != nil {
			t.Fatal(err)
		}
		b, err := MakeUntrustedDir(base, "x", ForOwner)
		if err != nil {
			t.Fatal(err)
		}
		b.Close()
		if got := b.Steps(); len(got) != 1 || got[0].Mode != 0o770|fs.ModeSticky {
			t.Errorf("one that exists is %+v, want its mode as it was", got)
		}
	}
}

// TestUntrustedDirFlood reads many named pipes: no read waits, and the number of threads stays the same.
//
// Attacks 5, 20, 138.
func TestUntrustedDirFlood(t *testing.T) {
	b, at, _ := newUntrustedDir(t)
	const many = 2000
	for i := range many {
		if err := unix.Mkfifo(filepath.Join(at, fmt.Sprintf("%d.req", i)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	threads := func() int {
		list, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before, seen := threads(), 0
	err := b.Names(func(name string) bool {
		if _, _, err := b.Read(name, 10); err == nil {
			t.Errorf("%s was read", name)
		}
		seen++
		return true
	})
	if err != nil || seen != many {
		t.Errorf("Names saw %d, %v, want %d", seen, err, many)
	}
	if after := threads(); after > before+2*runtime.GOMAXPROCS(0) {
		t.Errorf("%d threads, %d were before", after, before)
	}
}

// TestUntrustedDirRacingExchange reads a file that is exchanged with a link again and again.
//
// Attack 9.
func TestUntrustedDirRacingExchange(t *testing.T) {
	b, at, canary := newUntrustedDir(t)
	good, evil := filepath.Join(at, "good"), filepath.Join(at, "evil")
	if err := errors.Join(os.WriteFile(good, []byte("plain"), 0o666), os.Symlink(canary, evil)); err != nil {
		t.Fatal(err)
	}
	dirtest.Exchange(t, good, evil)
	read, refused := 0, 0
	for i := 0; i < 20000 || read == 0 || refused == 0; i++ {
		text, _, err := b.Read("good", 100)
		switch {
		case err != nil:
			refused++
		case string(text) == "plain":
			read++
		default:
			t.Fatalf("Read = %q", text)
		}
	}
	t.Logf("read %d, refused %d, leaked 0", read, refused)
}

// TestUntrustedDirGrowing checks that a file longer than the limit is refused.
//
// Attack 11.
func TestUntrustedDirGrowing(t *testing.T) {
	b, at, _ := newUntrustedDir(t)
	if err := os.WriteFile(filepath.Join(at, "x"), []byte(strings.Repeat("a", 101)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Read("x", 100); !TooLong(err) {
		t.Errorf("Read = %v, want that it is too long", err)
	}
	if text, _, err := b.Read("x", 101); len(text) != 101 || err != nil {
		t.Errorf("Read = %d bytes, %v", len(text), err)
	}
}

// TestUntrustedDirUmask checks that the owner can read and write a new file, whatever the umask.
func TestUntrustedDirUmask(t *testing.T) {
	b, at, _ := newUntrustedDir(t)
	defer syscall.Umask(syscall.Umask(0o777))
	f, err := b.Create("x", Entry{UID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if fi, err := os.Stat(filepath.Join(at, "x")); err != nil || fi.Mode() != 0o600 {
		t.Errorf("%v, %v, want mode 0600", fi, err)
	}
}

// TestUntrustedDirPutFails checks that a file that cannot get its name is removed.
func TestUntrustedDirPutFails(t *testing.T) {
	base := t.TempDir()
	d, err := MakeUntrustedDir(base, "x", ForOwner)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.MkdirAll(filepath.Join(base, "x", "name", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Put("name", []byte("text"), 0o600); err == nil {
		t.Error("it replaces a directory")
	}
	if entries, err := os.ReadDir(filepath.Join(base, "x")); err != nil || len(entries) != 1 {
		t.Errorf("left are %v, %v", entries, err)
	}
}
