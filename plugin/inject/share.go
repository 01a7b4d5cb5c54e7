// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"archive/tar"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// A container with CAP_SYS_ADMIN can make its mount of the share writable. Therefore a share has no files
// in common with other shares or the host. The container may have created links there, so files are opened
// through os.Root.

// Content is the content of a share besides the shim.
type Content struct {
	Names     []string // links to the shim
	RuleNames []string // links to the shim, of commands that only have rules
	Client    []byte   // for calls by files, a shell script that does the same as the shim; nil: none
	Pass      []string // names of variables that the shim and Client pass on
}

// FillShare puts the shim for an architecture, and c, into the share of a session, whose directory is session. The shim
// is unpacked once for each state directory home and each build, and then copied.
func FillShare(home, session, goarch string, c Content) error {
	z, err := shimFor(goarch)
	if err != nil {
		return err
	}
	return fillShare(home, session, goarch, z, c)
}

// addClient puts the client for calls by files into a share. It has the same names in a directory of its own, for users
// who want to read the program.
func (c Content) addClient(session string, share *os.Root) error {
	dir, err := os.OpenRoot(session)
	if err != nil {
		return err
	}
	defer dir.Close()
	err = errors.Join(mkdir(dir, filepath.Base(state.RequestsDir(session)), 0o711), mkdir(share, filepath.Base(state.RequestsMountPoint(session)), 0o755), mkdir(share, scripts, 0o755))
	err = errors.Join(err, writeText(share, filepath.Join(scripts, Shim), 0o755, c.Client))
	if len(c.Pass) > 0 {
		err = errors.Join(err, writeText(share, passEnvFile, 0o644, []byte(strings.Join(c.Pass, "\n")+"\n")))
	}
	if err != nil {
		return fmt.Errorf("put the client into %s: %w", share.Name(), err)
	}
	return linkNames(share, scripts, Shim, c.Names)
}

const (
	programs = "bin"                         // directory of the shim and its links
	rules    = "rules"                       // directory of links to commands that only have rules
	scripts  = "sh"                          // directory of the shell script and its links
	toShim   = "../" + programs + "/" + Shim // from rules

	passEnvFile = "pass" // file with the names of variables that the shim may pass on
)

func writeText(root *os.Root, name string, mode fs.FileMode, b []byte) error {
	return create(root, name, mode, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}

func fillShare(home, session, goarch string, z packed, c Content) error {
	cached, err := unpacked(home, goarch, z)
	if err != nil {
		return fmt.Errorf("unpack the shim: %w", err)
	}
	if err := link(cached, state.ShimFile(session)); err != nil {
		return fmt.Errorf("put the shim into %s: %w", session, err)
	}
	share, err := os.OpenRoot(state.ShareDir(session))
	if err != nil {
		return err
	}
	defer share.Close()
	if err := duplicate(cached, share, filepath.Join(programs, Shim)); err != nil {
		return fmt.Errorf("put the shim into %s: %w", share.Name(), err)
	}
	err = linkNames(share, programs, Shim, c.Names)
	if err == nil && c.Client != nil {
		err = c.addClient(session, share)
	}
	if len(c.RuleNames) > 0 {
		err = errors.Join(err, mkdir(share, rules, 0o755), linkNames(share, rules, toShim, c.RuleNames))
	}
	return err
}

// EmptyShare removes the files of FillShare, so that it can be called again.
func EmptyShare(session string) error {
	share, err := os.OpenRoot(state.ShareDir(session))
	if err != nil {
		return err
	}
	defer share.Close()
	if err := os.Remove(state.ShimFile(session)); !errors.Is(err, fs.ErrNotExist) && err != nil {
		return err
	}
	return errors.Join(share.RemoveAll(programs), mkdir(share, programs, 0o755), share.RemoveAll(rules), share.RemoveAll(scripts), share.RemoveAll(passEnvFile))
}

// mkdir creates a directory. The watcher may have created it before.
func mkdir(root *os.Root, name string, mode fs.FileMode) error {
	err := root.Mkdir(name, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return errors.Join(err, root.Chmod(name, mode)) // the umask must not apply to the container's files
}

func linkNames(share *os.Root, dir, target string, names []string) error {
	for _, name := range names {
		if err := share.Symlink(target, filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("name %s in the share: %w", name, err)
		}
	}
	return nil
}

// Archive returns the content of a share for calls through a relay. base is the directory prefix of the
// entries, empty or with a slash at its end; it has an entry too. ruleNames are commands that only have rules.
// links are added as by Links.
func Archive(goarch string, names, ruleNames []string, base string, links ...string) (io.Reader, error) {
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
	if len(ruleNames) > 0 {
		put(tar.Header{Typeflag: tar.TypeDir, Name: rules + "/", Mode: 0o755}, "")
	}
	for _, name := range ruleNames {
		put(tar.Header{Typeflag: tar.TypeSymlink, Name: rules + "/" + name, Linkname: toShim, Mode: 0o777}, "")
	}
	if err = errors.Join(err, writeLinks(w, Bin, links), w.Close()); err != nil {
		return nil, fmt.Errorf("pack the share: %w", err)
	}
	return &buf, nil
}

// unpacked returns the path of the unpacked program and creates it if needed. Concurrent runs each write
// their own file; the last rename wins, with equal bytes.
func unpacked(home, goarch string, z packed) (string, error) {
	dir := filepath.Join(shimsDir(home), z.key(), goarch)
	file := filepath.Join(dir, Shim)
	if fi, err := os.Stat(file); err == nil && fi.Size() == z.size() && fi.Mode().Perm() == 0o755 {
		return file, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	return file, create(root, Shim, 0o755, func(f *os.File) error { return z.unpack(f) })
}

func shimsDir(home string) string { return filepath.Join(home, "shims") }

// Prune removes the unpacked programs of other builds, and the findings about images.
func Prune(home string) error {
	return errors.Join(pruneShims(home), os.RemoveAll(imageCacheDir(home)))
}

func pruneShims(home string) error {
	keep := make(map[string]bool)
	for _, arch := range Arches() {
		for kind, all := range map[string]embed.FS{"shims": shims, "shells": shells} {
			if z, err := program(all, kind, arch); err == nil {
				keep[z.key()] = true
			}
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
