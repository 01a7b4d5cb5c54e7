// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// NoThread is part of the shim's error if it cannot start a thread; see nothread.sed.
const NoThread = "no process or thread is left here"

// shims holds linux-<arch>.zst for each architecture. The Makefile creates the files.
//
//go:embed shims
var shims embed.FS

// shells holds linux-<arch>.zst of the program that runs shells in containers, for each architecture.
//
//go:embed shells
var shells embed.FS

// arches maps architecture names of engines and kernels to Go's names.
var arches = map[string]string{
	"x86_64": "amd64", "aarch64": "arm64",
	"armv7l": "arm", "armv7": "arm", "armhf": "arm",
	"i386": "386", "i686": "386",
}

// Arch returns the Go name of an architecture that an engine reports.
func Arch(name string) string {
	name = strings.ToLower(name)
	if goarch, ok := arches[name]; ok {
		return goarch
	}
	return name
}

// Arches returns the architectures that this build has a shim for.
func Arches() []string {
	var all []string
	names, _ := fs.Glob(shims, "shims/linux-*.zst") // the pattern is valid
	for _, name := range names {
		all = append(all, strings.TrimSuffix(strings.TrimPrefix(name, "shims/linux-"), ".zst"))
	}
	return all
}

// packed is a compressed program: one zstd frame with content size and checksum. It is read where it is in this
// program: a copy would be half a megabyte that each run touches for the first time.
type packed struct {
	io.ReaderAt
	length int64
}

func shimFor(goarch string) (packed, error) { return program(shims, "shims", goarch) }

// ShellProgram opens the program that runs shells in containers and sandboxes, for an architecture. It is unpacked in
// home, the state directory, once for each build.
func ShellProgram(home, goarch string) (*os.File, error) {
	z, err := program(shells, "shells", goarch)
	if err != nil {
		return nil, err
	}
	file, err := unpacked(home, goarch, z)
	if err != nil {
		return nil, fmt.Errorf("unpack the program of shells in containers: %w", err)
	}
	return os.Open(file)
}

// program returns an embedded program. kind is the directory of all programs of that kind.
func program(all embed.FS, kind, goarch string) (packed, error) {
	f, err := all.Open(kind + "/linux-" + goarch + ".zst")
	if err != nil {
		have := Arches()
		if len(have) == 0 {
			return packed{}, fmt.Errorf("this build has no %s: build it with make build", kind)
		}
		return packed{}, fmt.Errorf("no %s for linux/%s: this build has %s", strings.TrimSuffix(kind, "s"), goarch, strings.Join(have, ", "))
	}
	fi, err := f.Stat()
	if err != nil {
		return packed{}, err
	}
	return packed{f.(io.ReaderAt), fi.Size()}, nil // as every file of embed.FS
}

func (z packed) reader() io.Reader { return io.NewSectionReader(z, 0, z.length) }

// key identifies this program among those of other builds.
func (z packed) key() string {
	sum := sha256.New()
	io.Copy(sum, z.reader()) // of this program's memory, which does not fail
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// size returns the uncompressed size, or -1 if it is unknown.
func (z packed) size() int64 {
	head := make([]byte, min(zstd.HeaderMaxSize, z.length))
	var h zstd.Header
	if _, err := z.ReadAt(head, 0); err != nil || h.Decode(head) != nil || !h.HasFCS {
		return -1
	}
	return int64(h.FrameContentSize)
}

// unpack writes the complete program to w, or nothing.
func (z packed) unpack(w io.Writer) error {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer r.Close()
	frame, err := io.ReadAll(z.reader())
	if err != nil {
		return err
	}
	b, err := r.DecodeAll(frame, nil)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}
