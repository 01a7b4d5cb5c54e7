// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// The limits of design.md section 9: what each call loads, and what each plugin carries.
const (
	maxShim  = 1_650_000
	maxShims = 4_600_000
)

// The limits of the programs that run shells in containers: what each shell copies, and what each plugin carries.
const (
	maxShell  = 3_800_000
	maxShells = 9_600_000
)

// TestShimSize measures the shims as the plugin embeds them.
func TestShimSize(t *testing.T) { testSize(t, "shims", maxShim, maxShims) }

// TestShellSize measures the programs of shells in containers.
func TestShellSize(t *testing.T) { testSize(t, "shells", maxShell, maxShells) }

func testSize(t *testing.T, kind string, most, maxTotal int) {
	total := 0
	for _, arch := range []string{"amd64", "arm64", "arm", "386", "ppc64le", "s390x", "riscv64"} {
		file := filepath.Join("..", "plugin", "inject", kind, "linux-"+arch+".zst")
		packed, size, err := measure(file)
		if err != nil {
			t.Errorf("%v: make shims builds it", err)
			continue
		}
		t.Logf("%-8s %7d bytes, %6d compressed", arch, size, packed)
		if size > most {
			t.Errorf("%s: %d bytes, the limit is %d", file, size, most)
		}
		total += packed
	}
	if total > maxTotal {
		t.Errorf("the compressed %s have %d bytes together, the limit is %d", kind, total, maxTotal)
	}
}

// measure returns the sizes of a compressed file and of its content.
func measure(file string) (packed, size int, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	r, err := zstd.NewReader(nil)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	shim, err := r.DecodeAll(b, nil)
	return len(b), len(shim), err
}
