// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"strings"

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
	"npm":  {[]string{"package-lock.json", "npm-shrinkwrap.json", ".npmrc"}},
	"yarn": {[]string{"yarn.lock", ".yarnrc", ".yarnrc.yml", ".npmrc"}},
	"pnpm": {[]string{"pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc", ".pnpmfile.cjs", ".pnpmfile.mjs"}},
	"bun":  {[]string{"bun.lock", "bun.lockb", "bunfig.toml", ".npmrc"}},
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
		for _, key := range []string{"yarnPath", "yarn-path", "plugins", "script-shell", "preload"} { // programs, and code that runs before
			if !strings.Contains(name, "lock") && strings.Contains(string(f.Content), key) {
				return fmt.Errorf("%s may name more files with %s", name, key)
			}
		}
	}
	return nil
}
