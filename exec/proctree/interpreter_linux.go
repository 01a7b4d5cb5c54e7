// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"bytes"
	"encoding/binary"
)

// unknown stands for the interpreter of a malformed program.
const unknown = "?"

// interpreterOf returns the second file that the kernel opens to execute a program. It is the interpreter of a script,
// or the dynamic loader of an ELF file (elf(5)). read reads from an offset of the program.
func interpreterOf(read func(b []byte, at int64) []byte) string {
	head := read(make([]byte, 1024), 0)
	if line, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		if words := bytes.Fields(line); len(words) > 0 {
			return string(words[0])
		}
		return ""
	}
	if len(head) < 64 || string(head[:4]) != "\x7fELF" {
		return ""
	}
	is64 := head[4] == 2 // ELFCLASS64
	short := func(b []byte, offset32, offset64 int) int {
		if is64 {
			offset32 = offset64
		}
		return int(binary.NativeEndian.Uint16(b[offset32:]))
	}
	number := func(b []byte, offset32, offset64 int) uint64 {
		if is64 {
			return binary.NativeEndian.Uint64(b[offset64:])
		}
		return uint64(binary.NativeEndian.Uint32(b[offset32:]))
	}
	headers, size, n := number(head, 28, 32), short(head, 42, 54), short(head, 44, 56)
	for range n {
		if headers > uint64(len(head)-40) {
			return unknown
		}
		h := head[headers:]
		headers += uint64(size)
		const ptInterp = 3
		if binary.NativeEndian.Uint32(h) != ptInterp {
			continue
		}
		begin, length := number(h, 4, 8), number(h, 16, 32)
		if begin > 1<<40 || length > 4096 {
			return unknown
		}
		return string(bytes.TrimRight(read(make([]byte, length), int64(begin)), "\x00"))
	}
	return ""
}
