// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// packageOptions are options of package managers that name no file.
var packageOptions = grammar{
	flags: "sSDPEOq",
	longFlags: names.WordSet(`silent quiet if-present no-audit no-fund offline prefer-offline frozen-lockfile no-frozen-lockfile immutable ignore-scripts
		production save save-dev save-exact no-save verbose no-progress no-color`),
	optionals: names.WordSet("omit include loglevel color"),
}

// manager is a manager of JavaScript packages: the files beside package.json that it reads.
type manager struct{ files []string }

var packages = map[string]manager{
	"npm":  {strings.Fields("package-lock.json npm-shrinkwrap.json .npmrc binding.gyp")},
	"yarn": {strings.Fields("yarn.lock .yarnrc .yarnrc.yml .npmrc .env.yarn .pnp.cjs .pnp.loader.mjs binding.gyp")},
	"pnpm": {strings.Fields("pnpm-lock.yaml pnpm-workspace.yaml .npmrc .pnpmfile.cjs .pnpmfile.mjs .pnp.cjs binding.gyp")},
	"bun": {strings.Fields(`bun.lock bun.lockb bunfig.toml .npmrc .env .env.local .env.development .env.development.local .env.production
		.env.production.local .env.test .env.test.local`)},
}

// find reads package.json, the lock file, and the settings of the directory.
func (m manager) find(r *reader) error {
	if _, _, err := packageOptions.parse(r.Args, 1); err != nil {
		return err
	}
	if _, err := r.need("package.json"); err != nil {
		return err
	}
	for _, name := range m.files {
		f, err := r.add(name)
		if err != nil {
			return err
		}
		for _, key := range packageKeys {
			if settings(name) && strings.Contains(string(f.Content), key) {
				return fmt.Errorf("%s may name more files with %s", name, key)
			}
		}
	}
	return r.above(append(m.files, "package.json"))
}

// packageKeys are settings that name programs, or code that runs before the script.
var packageKeys = strings.Fields("yarnPath yarn-path plugins script-shell scriptShell node-options nodeOptions pnpmfile preload")

// settings reports whether a manager of packages reads settings from the file name.
func settings(name string) bool {
	return strings.HasSuffix(name, "rc") || strings.HasSuffix(name, "rc.yml") || name == "pnpm-workspace.yaml" || name == "bunfig.toml"
}

// above refuses a directory above that of the call that has one of files. The directory of the call may belong to a
// workspace of packages, whose settings are there.
func (r *reader) above(files []string) error {
	rest, ok := names.CutDir(r.Dir.Path(), r.Root)
	if r.Root == "" || !ok || rest == "." {
		return nil
	}
	root, err := dir.Open(r.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	up := *r
	for at := path.Dir(rest); ; at = path.Dir(at) {
		for _, name := range files {
			up.Dir = root
			f, err := up.open(path.Join(at, name))
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("a directory above has a %s, which may name more files", name)
			}
		}
		if at == "." {
			return nil
		}
	}
}
