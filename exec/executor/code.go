// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxInterpreters is how many scripts may be each other's interpreters (execve(2)).
	maxInterpreters = 5
	// maxHead is how much of a script the kernel looks at.
	maxHead = 256
)

// Code returns the absolute path of the first file or directory by which the container could
// have the program at path be another one: the program, the interpreter of a script and its
// interpreters, what env(1) finds for one in search, which is a PATH, the loader of a binary, or a
// directory in which that looks for libraries. A program that cannot be read has none.
func Code(path, search string, owner Owner) (at string, ok bool) {
	for range maxInterpreters + 1 {
		if owner.Writable(path) {
			return path, true
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", false
		}
		words := interpreter(real)
		if len(words) == 0 {
			return linked(real, owner)
		}
		if path = words[0]; !filepath.IsAbs(path) {
			return path, true // the directory of the call has it
		}
		if at, ok := Names(strings.Join(words[1:], " "), owner); ok { // #!/bin/sh /work/script
			return at, true
		}
		if i := slices.IndexFunc(words[1:], fromCall); i >= 0 { // #!/bin/sh ./script
			return words[1+i], true
		}
		for isEnv(path) { // each takes an argument at least
			if owner.Writable(path) {
				return path, true
			}
			call := parseEnv(words[1:], search)
			found, chosen := call.find(search, owner)
			if found == "" {
				return chosen, chosen != ""
			}
			path, search, words = found, call.search, append([]string{found}, call.args...)
		}
	}
	return "", false
}

// interpreter returns the words of a script's first line, or none.
func interpreter(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, maxHead)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.ErrUnexpectedEOF {
		return nil
	}
	line, found := strings.CutPrefix(string(head[:n]), "#!")
	if !found {
		return nil
	}
	line, _, _ = strings.Cut(line, "\n")
	return strings.Fields(line)
}

// linked returns the loader of a binary, or a directory or file that its header has the
// loader look at, if the container can write it.
func linked(path string, owner Owner) (at string, ok bool) {
	f, err := elf.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
			continue
		}
		b := make([]byte, p.Filesz)
		if _, err := p.ReadAt(b, 0); err == nil {
			if at = strings.TrimRight(string(b), "\x00"); !filepath.IsAbs(at) || owner.Writable(at) {
				return at, true
			}
		}
	}
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH, elf.DT_NEEDED} {
		values, err := f.DynString(tag)
		if err != nil {
			continue
		}
		for _, v := range values {
			if at, ok := searched(v, path, tag == elf.DT_NEEDED, owner); ok {
				return at, true
			}
		}
	}
	return "", false
}

// searched returns what of value, by which the loader finds libraries of the binary path, the
// container can write. needed: it is the name of a library, which may have no slash.
func searched(value, path string, needed bool, owner Owner) (at string, ok bool) {
	if value == "" || needed && !strings.Contains(value, "/") {
		return "", false
	}
	origin := strings.NewReplacer("${ORIGIN}", filepath.Dir(path), "$ORIGIN", filepath.Dir(path))
	for at := range strings.SplitSeq(origin.Replace(value), ":") {
		if !filepath.IsAbs(at) || owner.Supplies(at) {
			return at, true
		}
	}
	return "", false
}
