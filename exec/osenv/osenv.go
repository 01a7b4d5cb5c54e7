// SPDX-License-Identifier: Apache-2.0

// Package osenv reads and edits environments, which are lists of NAME=value as in [os.Environ], and
// searches for programs in a PATH. Only ExpandHome reads the environment of this process.
package osenv

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Get returns the value of a variable in env, or "". The first value counts, as in getenv(3).
func Get(env []string, name string) string {
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// Set returns a copy of env with the variables of add, which replace those with the same names.
func Set(env []string, add ...string) []string {
	replaced := map[string]bool{}
	for _, kv := range add {
		name, _, _ := strings.Cut(kv, "=")
		replaced[name] = true
	}
	kept := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return replaced[name]
	})
	return append(kept, add...)
}

// Without returns a copy of env without the variables whose names begin with one of the prefixes.
func Without(env []string, prefixes ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(kv, p) })
	})
}

// ExpandHome returns path with the user's home directory in place of a leading ~.
func ExpandHome(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' {
		return path, nil
	}
	home, err := os.UserHomeDir()
	return home + rest, err
}

// Dirs returns the absolute directories of path, a PATH. It skips relative ones, because a container
// can often write the current directory.
func Dirs(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, dir := range filepath.SplitList(path) {
			if filepath.IsAbs(dir) && !yield(dir) {
				return
			}
		}
	}
}

// LookPath searches for the program name in Dirs(path). An absolute name stands for itself, and a
// relative path is not found.
func LookPath(name, path string) (string, bool) {
	if filepath.IsAbs(name) {
		p, err := findExecutable(name)
		return p, err == nil
	}
	if filepath.Base(name) != name {
		return "", false
	}
	for dir := range Dirs(path) {
		if p, err := findExecutable(filepath.Join(dir, name)); err == nil {
			return p, true
		}
	}
	return "", false
}

// CheckProgram returns the reason why the program at a path with a directory cannot be executed, or nil. The error does
// not name the path.
func CheckProgram(path string) error {
	_, err := findExecutable(path)
	var lookup *exec.Error
	if errors.As(err, &lookup) { // both errors name the path
		err = lookup.Err
	}
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return err
}

var errNotRegular = errors.New("not a regular file")

// findExecutable returns the file at a path with a directory, with the extension of a program on systems that have one.
// Unlike exec.LookPath, it accepts only regular files: the kernel executes no others, and opening a pipe could wait
// forever.
func findExecutable(path string) (string, error) {
	found, err := exec.LookPath(path)
	if err != nil {
		return "", err
	}
	fi, err := os.Stat(found)
	if err == nil && !fi.Mode().IsRegular() {
		err = errNotRegular
	}
	return found, err
}
