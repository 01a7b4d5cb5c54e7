// SPDX-License-Identifier: Apache-2.0

package hostcode

import (
	"path/filepath"
	"slices"
	"strings"
)

// unsafePart returns the part of a value that the container can write, or that depends on the
// directory of the call. It also returns the reason, or "".
func unsafePart(name, value string, access ContainerAccess) (at, why string) {
	if path, ok := WritablePath(value, access); ok {
		return path, writableBy(access, path)
	}
	for i, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n'\"", r) }) {
		program := i == 0 && strings.Contains(word, "/") && !filepath.IsAbs(word) && !strings.ContainsAny(word, ":=@") && word[0] != '-' && word[0] != '~'
		_, given, _ := strings.Cut(word, "=")
		if relativeToCall(word) || program || ofProcess(word) || ofProcess(given) {
			return word, relativeReason
		}
	}
	if name == "NODE_OPTIONS" {
		return preload(value)
	}
	return relativeFile(name, value)
}

// relativeFile returns a part of a value that names a file in the directory of the call, although it has no ./ in front.
func relativeFile(name, value string) (at, why string) {
	isRelative := func(file string) bool { return file != "" && !filepath.IsAbs(file) }
	if filePaths()[name] {
		all := filepath.SplitList(value)
		if i := slices.IndexFunc(all, isRelative); i >= 0 {
			return all[i], relativeReason
		}
	}
	for _, word := range strings.Fields(value) {
		for _, option := range codeOptions[name] {
			if file, ok := strings.CutPrefix(word, option); ok && isRelative(file) {
				return word, relativeReason
			}
		}
	}
	return "", ""
}

// relativeToCall reports whether word, or its part after =, is a path relative to the directory of the
// call.
func relativeToCall(word string) bool {
	_, value, _ := strings.Cut(word, "=")
	return slices.ContainsFunc([]string{"./", "../"}, func(dir string) bool {
		return strings.HasPrefix(word, dir) || strings.HasPrefix(value, dir)
	})
}

// preload returns a module that node would search from the directory of the call upwards.
func preload(value string) (at, why string) {
	words := strings.Fields(value)
	for i, word := range words {
		option, module, given := strings.Cut(word, "=")
		switch option {
		case "-r", "--require", "--import", "--loader", "--experimental-loader":
		default:
			continue
		}
		if !given && i+1 < len(words) {
			module = words[i+1]
		}
		if module = strings.Trim(module, `"`); !filepath.IsAbs(module) && !strings.Contains(module, ":") {
			return module, relativeReason
		}
	}
	return "", ""
}

const (
	maxNames = 4096 // parts of one value that are checked
	maxEnds  = 8    // positions where a path with a given start may end
)

// WritablePath returns an absolute path in value that the container can write. The path may be the value,
// follow an option's = or letter, be in a list, or be in quotes.
func WritablePath(value string, access ContainerAccess) (path string, ok bool) {
	checked := 0
	for i := range len(value) {
		if value[i] != '/' || !beginsPath(value, i) {
			continue
		}
		for end, ends := i+1, 0; end <= len(value) && ends < maxEnds; end++ {
			if end < len(value) && !strings.ContainsRune(" \t\n:;,'\"`()[]{}|&<>", rune(value[end])) {
				continue
			}
			ends++
			if checked++; checked > maxNames {
				return value, true // too complex to check
			}
			if path = filepath.Clean(value[i:end]); access.Writable(path) {
				return path, true
			}
		}
		if path = filepath.Clean(value[i:]); access.Writable(path) {
			return path, true
		}
	}
	return "", false
}

// beginsPath reports whether the slash at i may begin an absolute path. It is false for a/b and for the
// first slashes of https://a. It is true for -I/lib, !/bin/sh and file:///lib.
func beginsPath(value string, i int) bool {
	if i == 0 {
		return true
	}
	if strings.HasPrefix(value[i-1:], "://") {
		return strings.HasPrefix(value[i-1:], ":///")
	}
	start := strings.LastIndexFunc(value[:i], func(r rune) bool { return !isPathChar(r) }) + 1
	return start == i || value[start] == '-'
}

func isPathChar(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._~+%-", r)
}
