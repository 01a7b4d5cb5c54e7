// SPDX-License-Identifier: Apache-2.0

package hostcode

import (
	"debug/elf"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

const (
	// maxInterpreters is the maximum depth of scripts that are interpreters of scripts (execve(2)).
	maxInterpreters = 5
	// maxInterpreterLine is the number of bytes at the start of a script that the kernel reads.
	maxInterpreterLine = 256
)

// WritableDependency returns the first file or directory with which the container can replace the program at path. The
// result is absolute, or relative to the directory of the call, which the caller chooses, or a PATH=VALUE of env(1). It
// checks the program, the interpreters of scripts, the loader of a binary, and its library directories. For env(1) as
// interpreter, it checks the program that env finds in search, a PATH. Of a program that it cannot read, or that is no
// regular file, it checks only the path: opening a pipe could wait forever. A chain of scripts that is too long to
// check, and has env(1) in it, counts as writable.
func WritableDependency(path, search string, access ContainerAccess) (at string, ok bool) {
	byEnv := false
	for range maxInterpreters + 1 {
		if access.Writable(path) {
			return path, true
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", false
		}
		words := interpreter(real)
		if len(words) == 0 {
			return writableInBinary(real, access)
		}
		if path = words[0]; !filepath.IsAbs(path) {
			return path, true // relative to the directory of the call
		}
		if at, ok := WritablePath(strings.Join(words[1:], " "), access); ok { // #!/bin/sh /work/script
			return at, true
		}
		if i := slices.IndexFunc(words[1:], relativeToCall); i >= 0 { // #!/bin/sh ./script
			return words[1+i], true
		}
		for isEnv(path) { // at least one argument is consumed per iteration
			if access.Writable(path) {
				return path, true
			}
			byEnv = true
			call := parseEnv(words[1:], search)
			found, chosen := call.find(search, access)
			if found == "" {
				return chosen, chosen != ""
			}
			path, search, words = found, call.search, append([]string{found}, call.args...)
		}
	}
	return path, byEnv // the kernel does not execute a longer chain, but env(1) begins a new one
}

// interpreter returns the words of the first line of a script, or none.
func interpreter(path string) []string { return strings.Fields(interpreterLine(path)) }

// interpreterLine returns the first line of a script, without #!, or "".
func interpreterLine(path string) string {
	f, err := dir.OpenRegular(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, maxInterpreterLine)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.ErrUnexpectedEOF {
		return ""
	}
	line, found := strings.CutPrefix(string(head[:n]), "#!")
	if !found {
		return ""
	}
	line, _, _ = strings.Cut(line, "\n")
	return line
}

// MissingInterpreter returns the interpreter of a script, or the loader of a binary, that does not exist. It returns ""
// if nothing is missing. The kernel reports a program without its interpreter as not found (execve(2)).
func MissingInterpreter(path string) string {
	for range maxInterpreters + 1 {
		next := kernelInterpreter(path)
		if next == "" {
			return ""
		}
		if _, err := os.Stat(next); errors.Is(err, fs.ErrNotExist) {
			return next
		}
		path = next
	}
	return ""
}

// kernelInterpreter returns the program that the kernel starts for path, or "". Unlike interpreter, it separates words
// only as the kernel does: the carriage return of a file from Windows is a part of the name.
func kernelInterpreter(path string) string {
	blank := func(r rune) bool { return r == ' ' || r == '\t' }
	if words := strings.FieldsFunc(interpreterLine(path), blank); len(words) > 0 {
		return words[0]
	}
	file, err := dir.OpenRegular(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	f, err := elf.NewFile(file)
	if err != nil {
		return ""
	}
	for _, p := range f.Progs {
		if at, ok := loader(p); ok {
			return at
		}
	}
	return ""
}

// loader returns the path in a PT_INTERP header. ok is false for other headers.
func loader(p *elf.Prog) (path string, ok bool) {
	if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
		return "", false
	}
	b := make([]byte, p.Filesz)
	if _, err := p.ReadAt(b, 0); err != nil {
		return "", false
	}
	return strings.TrimRight(string(b), "\x00"), true
}

// writableInBinary returns the loader of a binary, or a file or directory in the header that the loader uses,
// if the container can write it.
func writableInBinary(path string, access ContainerAccess) (at string, ok bool) {
	file, err := dir.OpenRegular(path)
	if err != nil {
		return "", false
	}
	defer file.Close()
	f, err := elf.NewFile(file)
	if err != nil {
		return "", false
	}
	for _, p := range f.Progs {
		if at, ok := loader(p); ok && (!filepath.IsAbs(at) || access.Writable(at)) {
			return at, true
		}
	}
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH, elf.DT_NEEDED} {
		values, err := f.DynString(tag)
		if err != nil {
			continue
		}
		for _, v := range values {
			if at, ok := writableInSearch(v, path, tag == elf.DT_NEEDED, access); ok {
				return at, true
			}
		}
	}
	return "", false
}

// writableInSearch returns the part of value that the container can write. The loader uses value to find
// libraries of the binary path. needed means that value is the name of a library, which may have no
// slash.
func writableInSearch(value, path string, needed bool, access ContainerAccess) (at string, ok bool) {
	if value == "" || needed && !strings.Contains(value, "/") {
		return "", false
	}
	origin := strings.NewReplacer("${ORIGIN}", filepath.Dir(path), "$ORIGIN", filepath.Dir(path))
	for at := range strings.SplitSeq(origin.Replace(value), ":") {
		if !filepath.IsAbs(at) || access.ControlsFilesIn(at) {
			return at, true
		}
	}
	return "", false
}
