// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

// toolchains lists directories of the home. Programs in the first directory of an entry need all directories of the
// entry. No directory contains credentials, as ~/.cargo and ~/.m2 do.
var toolchains = [][]string{
	{".cargo/bin", ".rustup"}, {".rustup"}, {".nvm"}, {".fnm"}, {".local/share/fnm"}, {".volta"}, {".bun"}, {".deno"},
	{".pyenv"}, {".rbenv"}, {".rvm"}, {".nodenv"}, {".goenv"}, {".jenv"}, {".asdf"}, {".local/share/mise"}, {".sdkman"}, {".ghcup"},
	{".juliaup"}, {".opam"}, {".elan"}, {".dotnet"}, {".nix-profile"}, {"go/bin"}, {"sdk"}, {".local/bin"}, {".local/share/uv"},
	{".local/share/pipx"}, {".local/pipx"}, {".local/share/pnpm"}, {"miniconda3"}, {"anaconda3"}, {"miniforge3"},
}

// missingReads returns the entries that commands.NAME.sandbox.read lacks for a program: its toolchain, or its
// directory. It returns nothing if the program is in paths. Symbolic links need no permission.
func missingReads(program, home string, paths []sandbox.Path) []string {
	real := mount.Resolved(program)
	if readable(real, paths) {
		return nil
	}
	for _, at := range []string{program, real} {
		if rest, ok := pathBelow(at, mount.Resolved(home)); ok {
			return toolchain(rest)
		}
	}
	return []string{filepath.Dir(real)}
}

// toolchain returns the directories of a program's toolchain. program is a path relative to the home.
func toolchain(program string) (dirs []string) {
	for _, t := range toolchains {
		if names.Within(program, t[0]) {
			for _, dir := range t {
				dirs = append(dirs, "~/"+dir)
			}
			return dirs
		}
	}
	if dir := filepath.Dir(program); dir != "." {
		program = dir
	}
	return []string{"~/" + program}
}

// resolved returns paths with their symbolic links followed.
func resolved(paths []sandbox.Path) []sandbox.Path {
	list := slices.Clone(paths)
	for i := range list {
		list[i].Name = mount.Resolved(list[i].Name)
	}
	return list
}

// readable reports whether at is in paths.
func readable(at string, paths []sandbox.Path) bool {
	return slices.ContainsFunc(paths, func(p sandbox.Path) bool { return names.Within(at, p.Name) })
}

// readablePath returns the PATH value path without the directories that are not in paths, so that programs are found
// in the other directories.
func readablePath(path string, paths []sandbox.Path) string {
	return strings.Join(slices.DeleteFunc(slices.Collect(osenv.Dirs(path)), func(dir string) bool { return !readable(mount.Resolved(dir), paths) }), ":")
}
