// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/osenv"
)

var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`) })

// Expand replaces ${NAME} by the variable's value, ${NAME:-DEFAULT} by DEFAULT if NAME is unset or empty,
// and $$ by a dollar. All other text stays as it is, including $NAME. It returns the names of unset
// variables without a default, which it replaces by nothing.
func Expand(text string, lookup func(string) (string, bool)) (expanded string, unset []string) {
	expanded = reference().ReplaceAllStringFunc(text, func(ref string) string {
		if ref == "$$" {
			return "$"
		}
		m := reference().FindStringSubmatch(ref)
		value, ok := lookup(m[1])
		switch {
		case m[2] != "" && value == "":
			return m[3]
		case !ok:
			unset = append(unset, m[1])
		}
		return value
	})
	return expanded, unset
}

var leadingVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\A\$(?:\{(HOME|XDG_[A-Z_]+)\}|(HOME|XDG_[A-Z_]+))(/|\z)`)
})

// ExpandDir returns the absolute path of the directory text. A leading ~, $HOME or $XDG_... is replaced by
// its value on the host.
func ExpandDir(text string, lookup func(string) (string, bool)) (string, error) {
	text, err := osenv.ExpandHome(text)
	if err != nil {
		return "", err
	}
	if m := leadingVariable().FindStringSubmatch(text); m != nil {
		name := m[1] + m[2]
		value, _ := lookup(name)
		if value == "" {
			return "", fmt.Errorf("%s: %s is not set", names.Quoted(text), name)
		}
		text = filepath.Join(value, text[len(m[0]):])
	}
	return filepath.Abs(text)
}
