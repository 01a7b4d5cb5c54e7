// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// shims holds linux-<arch>.gz for each architecture, put there by the Makefile.
//
//go:embed shims
var shims embed.FS

// arches are the names that engines and kernels give to Go's architectures.
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
	names, _ := fs.Glob(shims, "shims/linux-*.gz") // the pattern is well-formed
	for _, name := range names {
		all = append(all, strings.TrimSuffix(strings.TrimPrefix(name, "shims/linux-"), ".gz"))
	}
	return all
}

// packed is a compressed shim.
type packed []byte

func shimFor(goarch string) (packed, error) {
	gz, err := shims.ReadFile("shims/linux-" + goarch + ".gz")
	if err == nil && len(gz) >= 8 {
		return gz, nil
	}
	have := Arches()
	if len(have) == 0 {
		return nil, fmt.Errorf("this build has no shims: build it with make build")
	}
	return nil, fmt.Errorf("no shim for linux/%s: this build has %s", goarch, strings.Join(have, ", "))
}

// key names this shim among those of other builds.
func (gz packed) key() string {
	sum := sha256.Sum256(gz)
	return hex.EncodeToString(sum[:8])
}

// size is what the shim unpacks to, as gzip notes it at its end.
func (gz packed) size() int64 { return int64(binary.LittleEndian.Uint32(gz[len(gz)-4:])) }

func (gz packed) unpack(w io.Writer) error {
	r, err := gzip.NewReader(bytes.NewReader(gz))
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r) // r checks length and checksum
	return err
}
