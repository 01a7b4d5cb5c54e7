// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

func compressed(t *testing.T, text string) packed {
	t.Helper()
	return packedFrame(frameOf(t, text))
}

func packedFrame(frame []byte) packed { return packed{bytes.NewReader(frame), int64(len(frame))} }

func frameOf(t *testing.T, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithSingleSegment(true)) // stores the content size even of short texts
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(text), nil)
}

func TestArch(t *testing.T) {
	for name, want := range map[string]string{
		"amd64": "amd64", "x86_64": "amd64", "aarch64": "arm64", "ARM64": "arm64", "armv7l": "arm",
		"arm": "arm", "i686": "386", "s390x": "s390x", "ppc64le": "ppc64le", "riscv64": "riscv64",
	} {
		if got := Arch(name); got != want {
			t.Errorf("Arch(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestNoShimForArch(t *testing.T) {
	_, err := shimFor("vax")
	if err == nil || !strings.Contains(err.Error(), "shim") {
		t.Errorf("shimFor(vax) = %v, want an error that says there is none", err)
	}
}

func TestUnpacked(t *testing.T) {
	home, z := t.TempDir(), compressed(t, "the shim")
	file, err := unpacked(home, "amd64", z)
	if err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(file)
	if err != nil || fi.Mode().Perm() != 0o755 || fi.Size() != z.size() {
		t.Fatalf("unpacked shim: %v, %v, want 8 bytes with mode 0755", fi, err)
	}
	again, err := unpacked(home, "amd64", z)
	if err != nil || again != file {
		t.Errorf("unpacked again = %q, %v, want %q", again, err, file)
	}
	if other, _ := os.Stat(again); !os.SameFile(fi, other) {
		t.Error("a shim that was there already was unpacked again")
	}
}

// TestUnpackedMendsTruncated covers a crash after the rename and before the data was on disk.
func TestUnpackedMendsTruncated(t *testing.T) {
	home, z := t.TempDir(), compressed(t, "the shim")
	file, err := unpacked(home, "amd64", z)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 3); err != nil {
		t.Fatal(err)
	}
	if _, err := unpacked(home, "amd64", z); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(file); string(b) != "the shim" {
		t.Errorf("shim = %q, want the complete one", b)
	}
}

func TestUnpackRefusesDamaged(t *testing.T) {
	home, frame := t.TempDir(), frameOf(t, strings.Repeat("the shim", 100))
	frame[len(frame)-2] ^= 1 // part of the checksum
	if file, err := unpacked(home, "amd64", packedFrame(frame)); err == nil {
		t.Errorf("a damaged shim was unpacked to %s", file)
	}
	filepath.WalkDir(home, func(p string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			t.Errorf("left behind: %s", p)
		}
		return nil
	})
}

func TestFill(t *testing.T) {
	store := &state.Store{Home: t.TempDir()}
	rec := &state.Session{ID: state.NewID()}
	if err := os.MkdirAll(filepath.Dir(store.Dir("x")), 0o700); err != nil {
		t.Fatal(err)
	}
	dir := store.Dir(rec.ID)
	if err := store.Create(rec); err != nil {
		t.Fatal(err)
	}
	if err := fillShare(store.Home, dir, "amd64", compressed(t, "the shim"), Content{Names: []string{"make", "g++"}}); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(state.ShareDir(dir), "bin")
	shim, err := os.Stat(filepath.Join(bin, "hostexec"))
	if err != nil || shim.Mode().Perm() != 0o755 {
		t.Fatalf("shim: %v, %v, want mode 0755", shim, err)
	}
	cached, err := os.Stat(filepath.Join(home(t, store), "hostexec"))
	if err != nil || os.SameFile(cached, shim) {
		t.Errorf("the shim of the share is the unpacked one, %v: a container that can write to it changes all others", err)
	}
	other := &state.Session{ID: state.NewID()}
	if err := store.Create(other); err != nil {
		t.Fatal(err)
	}
	if err := fillShare(store.Home, store.Dir(other.ID), "amd64", compressed(t, "the shim"), Content{Names: []string{"make"}}); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(filepath.Join(state.ShareDir(store.Dir(other.ID)), "bin", "hostexec")); err != nil || os.SameFile(fi, shim) {
		t.Errorf("another session's shim: %v, want a file of its own", err)
	}
	for _, name := range []string{"make", "g++"} {
		if fi, err := os.Stat(filepath.Join(bin, name)); err != nil || !os.SameFile(fi, shim) {
			t.Errorf("%s: %v, want the shim", name, err)
		}
	}
}

// home returns the directory with the only unpacked shim of store.
func home(t *testing.T, store *state.Store) string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(shimsDir(store.Home), "*", "amd64"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("unpacked shims in %q, %v, want one", dirs, err)
	}
	return dirs[0]
}

// TestFillStaysInShare fills and empties a share in which a container has created links to directories of
// the host.
//
// Attack 211.
func TestFillStaysInShare(t *testing.T) {
	z := compressed(t, "the shim")
	for _, link := range []string{"bin", "sh", "pass", "proxy"} {
		store := &state.Store{Home: t.TempDir()}
		rec := &state.Session{ID: state.NewID()}
		if err := os.MkdirAll(filepath.Dir(store.Dir("x")), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := store.Create(rec); err != nil {
			t.Fatal(err)
		}
		dir, outside := store.Dir(rec.ID), t.TempDir()
		at := filepath.Join(state.ShareDir(dir), link)
		if err := errors.Join(os.WriteFile(filepath.Join(outside, "file"), []byte("kept"), 0o600), os.RemoveAll(at), os.Symlink(outside, at)); err != nil {
			t.Fatal(err)
		}
		err := fillShare(store.Home, dir, "amd64", z, Content{Names: []string{"make"}})
		if (err == nil) != (link != "bin") {
			t.Errorf("fill with a link at %s: %v", link, err)
		}
		if err := EmptyShare(dir); err != nil {
			t.Errorf("empty with a link at %s: %v", link, err)
		}
		entries, err := os.ReadDir(outside)
		if err != nil || len(entries) != 1 || entries[0].Name() != "file" {
			t.Errorf("with a link at %s, the files outside are %v, %v, want no change", link, entries, err)
		}
	}
}

func TestLinkCopiesAcrossFileSystems(t *testing.T) {
	if _, err := os.Stat("/dev/shm"); err != nil {
		t.Fatalf("another file system is needed: %v", err)
	}
	other, err := os.MkdirTemp("/dev/shm", "hostexec-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(other) })
	file := filepath.Join(t.TempDir(), "shim")
	if err := os.WriteFile(file, []byte("the shim"), 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(other, "hostexec")
	if err := link(file, name); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(name)
	if err != nil || fi.Mode().Perm() != 0o755 || fi.Size() != 8 {
		t.Errorf("copy: %v, %v, want 8 bytes with mode 0755", fi, err)
	}
}

func TestPrune(t *testing.T) {
	home := t.TempDir()
	if err := Prune(home); err != nil {
		t.Fatalf("without files: %v", err)
	}
	file, err := unpacked(home, "amd64", compressed(t, "of another build"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Prune(home); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Errorf("%s is still there", file)
	}
}
