// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Command pack compresses a program that the plugin embeds, a shim or hostexec-shell: pack FILE PACKED. Its output is
// deterministic.
package main

import (
	"fmt"
	"os"

	"github.com/klauspost/compress/zstd"
)

func main() {
	if err := pack(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// pack writes the compressed file through a temporary file, so that an interrupted build leaves no
// incomplete shim.
func pack(file, packed string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if err := os.WriteFile(packed+".tmp", w.EncodeAll(b, nil), 0o644); err != nil {
		return err
	}
	return os.Rename(packed+".tmp", packed)
}
