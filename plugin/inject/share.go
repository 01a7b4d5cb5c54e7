// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Fill puts the shim of an architecture, and a link to it for each of names, into
// session's share. The shim is unpacked once per user and build.
func Fill(home, session, goarch string, names []string) error {
	z, err := shimFor(goarch)
	if err != nil {
		return err
	}
	return fill(home, session, goarch, z, names)
}

// FillFiles is Fill for calls by files. client, a program for a shell that does what the shim
// does, is beside it by the same names, for whoever has to read what it runs; pass are the
// variables that both pass on.
func FillFiles(home, session, goarch string, client []byte, pass, names []string) error {
	if err := Fill(home, session, goarch, names); err != nil {
		return err
	}
	share := state.ShareDir(session)
	sh := filepath.Join(share, scripts)
	err := errors.Join(mkdir(state.ProxyDir(session), 0o711), mkdir(state.RequestsMount(session), 0o755), mkdir(sh, 0o755))
	err = errors.Join(err, text(filepath.Join(sh, Shim), 0o755, client))
	if len(pass) > 0 {
		err = errors.Join(err, text(filepath.Join(share, passing), 0o644, []byte(strings.Join(pass, "\n")+"\n")))
	}
	if err != nil {
		return fmt.Errorf("put the client into %s: %w", share, err)
	}
	return linkNames(sh, names)
}

const (
	scripts = "sh"   // in a share, what clients for a shell are in
	passing = "pass" // in a share, what names the variables that the shim may pass on
)

func text(file string, mode fs.FileMode, b []byte) error {
	return create(file, mode, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// FillLinked is Fill where program itself is a shim when it is called by another name.
func FillLinked(session, program string, names []string) error {
	bin := filepath.Join(state.ShareDir(session), "bin")
	if err := os.Symlink(program, filepath.Join(bin, Shim)); err != nil {
		return fmt.Errorf("put the shim into %s: %w", bin, err)
	}
	return linkNames(bin, names)
}

func fill(home, session, goarch string, z packed, names []string) error {
	cached, err := unpacked(home, goarch, z)
	if err != nil {
		return fmt.Errorf("unpack the shim: %w", err)
	}
	bin := filepath.Join(state.ShareDir(session), "bin")
	if err := link(cached, filepath.Join(bin, Shim)); err != nil {
		return fmt.Errorf("put the shim into %s: %w", bin, err)
	}
	return linkNames(bin, names)
}

// Empty takes what Fill has put there out of a session's share, so that it can be filled anew.
func Empty(session string) error {
	share := state.ShareDir(session)
	bin := filepath.Join(share, "bin")
	entries, err := os.ReadDir(bin)
	for _, e := range entries {
		err = errors.Join(err, os.Remove(filepath.Join(bin, e.Name())))
	}
	err = errors.Join(err, os.RemoveAll(filepath.Join(share, scripts)))
	if rerr := os.Remove(filepath.Join(share, passing)); !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}

// mkdir makes a directory that the watcher may have made before.
func mkdir(dir string, mode fs.FileMode) error {
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return errors.Join(err, os.Chmod(dir, mode)) // the umask is not the container's business
}

func linkNames(bin string, names []string) error {
	for _, name := range names {
		if err := os.Symlink(Shim, filepath.Join(bin, name)); err != nil {
			return fmt.Errorf("name %s in the share: %w", name, err)
		}
	}
	return nil
}

// Archive returns what a share holds whose calls a relay carries, below the directory base,
// which ends in a slash, or is empty, and which is part of it.
func Archive(goarch string, names []string, base string) (io.Reader, error) {
	z, err := shimFor(goarch)
	if err != nil {
		return nil, err
	}
	var shim, buf bytes.Buffer
	if err := z.unpack(&shim); err != nil {
		return nil, fmt.Errorf("unpack the shim: %w", err)
	}
	w := tar.NewWriter(&buf)
	put := func(h tar.Header, data string) {
		h.Name, h.Size = base+h.Name, int64(len(data))
		err = errors.Join(err, w.WriteHeader(&h))
		_, werr := io.WriteString(w, data)
		err = errors.Join(err, werr)
	}
	if base != "" {
		put(tar.Header{Typeflag: tar.TypeDir, Mode: 0o755}, "")
	}
	put(tar.Header{Typeflag: tar.TypeDir, Name: "bin/", Mode: 0o755}, "")
	put(tar.Header{Typeflag: tar.TypeDir, Name: "relay/", Mode: 0o755}, "")
	put(tar.Header{Typeflag: tar.TypeReg, Name: "carrier", Mode: 0o644}, "relay\n")
	put(tar.Header{Typeflag: tar.TypeReg, Name: "bin/" + Shim, Mode: 0o755}, shim.String())
	for _, name := range names {
		put(tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: Shim, Mode: 0o777}, "")
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("pack the share: %w", err)
	}
	return &buf, nil
}

// unpacked returns the path of the unpacked shim, which it makes if need be. Runs that
// start together each write a file of their own; the last rename wins, with equal bytes.
func unpacked(home, goarch string, z packed) (string, error) {
	dir := filepath.Join(shimsDir(home), z.key(), goarch)
	file := filepath.Join(dir, Shim)
	if fi, err := os.Stat(file); err == nil && fi.Size() == z.size() && fi.Mode().Perm() == 0o755 {
		return file, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return file, create(file, 0o755, z.unpack)
}

// create makes file, of that mode, in one step.
func create(file string, mode fs.FileMode, write func(io.Writer) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".hostexec-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(tmp), tmp.Chmod(mode), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// link makes name another name of file, or a copy where the file system cannot.
func link(file, name string) error {
	err := os.Link(file, name)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	src, err := os.Open(file)
	if err != nil {
		return err
	}
	defer src.Close()
	return create(name, 0o755, func(w io.Writer) error {
		_, err := io.Copy(w, src)
		return err
	})
}

func shimsDir(home string) string { return filepath.Join(home, "shims") }

// Sweep removes the unpacked shims of other builds, and what is remembered of images.
func Sweep(home string) error {
	return errors.Join(sweepShims(home), forget(home))
}

func sweepShims(home string) error {
	keep := make(map[string]bool)
	for _, arch := range Arches() {
		if z, err := shimFor(arch); err == nil {
			keep[z.key()] = true
		}
	}
	entries, err := os.ReadDir(shimsDir(home))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !keep[e.Name()] {
			err = errors.Join(err, os.RemoveAll(filepath.Join(shimsDir(home), e.Name())))
		}
	}
	return err
}
