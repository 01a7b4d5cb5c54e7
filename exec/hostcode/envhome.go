// SPDX-License-Identifier: Apache-2.0

package hostcode

import (
	"path/filepath"
	"slices"
	"strings"
)

// homeSettings lists files and directories below HOME from which programs read code or the names of
// programs.
var homeSettings = strings.Fields(`.ssh .gitconfig .config .local .bashrc .bash_profile .profile .zshenv .zshrc .zprofile .npmrc .yarnrc
	.cargo .rustup .docker .kube .aws .azure .gnupg .m2 .gradle .pip .condarc .curlrc .wgetrc .vimrc .vim .terraformrc .terraform.d
	.pyenv .rbenv .nvm .gem .bundle`)

// WritableSettings returns the settings in the user's home directory that the container can write. If the
// container can write all of home, WritableSettings returns none, because Environ reports it.
func WritableSettings(home string, access ContainerAccess) (found []Finding) {
	if home == "" || access.Writable(home) {
		return nil
	}
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		return nil
	}
	sources := access.WritableSources()
	for _, name := range homeSettings {
		p := filepath.Join(home, name)
		below := slices.ContainsFunc(sources, func(s string) bool {
			return strings.HasPrefix(s, filepath.Join(real, name)+string(filepath.Separator))
		})
		if below || access.Writable(p) {
			found = append(found, Finding{"HOME", p, writableBy(access, p), settingsConsequence})
		}
	}
	return found
}
