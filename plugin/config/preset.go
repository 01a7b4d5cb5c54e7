// SPDX-License-Identifier: Apache-2.0

package config

import (
	"embed"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/names"
)

//go:embed presets/*.yaml
var presets embed.FS

// Preset is an example configuration with comments and tests. It passes the linter.
type Preset struct {
	Name  string
	Title string // one line of description
	Text  string
}

// Presets returns all presets, sorted by name.
func Presets() []Preset {
	entries, err := presets.ReadDir("presets")
	if err != nil {
		return nil // cannot happen: the directory is embedded
	}
	var all []Preset
	for _, e := range entries {
		text, _ := presets.ReadFile("presets/" + e.Name())
		name := strings.TrimSuffix(e.Name(), ".yaml")
		first, _, _ := strings.Cut(string(text), "\n")
		all = append(all, Preset{Name: name, Title: strings.TrimPrefix(first, "# "+name+": "), Text: string(text)})
	}
	// The names of the files are in another order: git-push.yaml comes before git.yaml.
	slices.SortFunc(all, func(a, b Preset) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// FindPreset returns the preset called name.
func FindPreset(name string) (Preset, error) {
	var known []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
		known = append(known, p.Name)
	}
	return Preset{}, fmt.Errorf("no such preset: %s: there are %s", names.Quoted(name), strings.Join(known, ", "))
}

var execLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^    exec: (.*)$`) })

// WithProgram returns the preset with the program path that find returns. If find returns none, the preset is
// unchanged.
func (p Preset) WithProgram(find func(name string) (path string, ok bool)) Preset {
	p.Text = execLine().ReplaceAllStringFunc(p.Text, func(line string) string {
		if path, ok := find(p.Name); ok {
			return "    exec: " + path
		}
		return line
	})
	return p
}

// Install adds the preset to file. The file may have any content except for keys that the preset sets.
func (p Preset) Install(file string) error {
	return locked(file, func() error {
		if _, err := os.Stat(file); os.IsNotExist(err) {
			return replace(file, []byte(p.Text))
		}
		r := &reader{file: p.Name}
		return editLocked(file, func(root *yaml.Node) error {
			return addKeys(root, r.parseYAML([]byte(p.Text)), "")
		})
	})
}

// addKeys adds the keys of more to n. It returns an error if n has one of them.
func addKeys(n, more *yaml.Node, path string) error {
	for i := 0; i+1 < len(more.Content); i += 2 {
		key, value := more.Content[i], more.Content[i+1]
		old := lookup(n, key.Value)
		switch {
		case path == "" && key.Value == "version" && old != nil:
		case path == "" && key.Value == "commands" && old != nil && old.Kind == yaml.MappingNode:
			if err := addKeys(old, value, "commands."); err != nil {
				return err
			}
		case old != nil && !isNull(old):
			return fmt.Errorf("line %d: %s%s is there already: nothing was written (print the preset, and merge by hand)", old.Line, path, key.Value)
		default:
			if old != nil {
				removeKey(n, key.Value)
			}
			n.Style = 0
			n.Content = append(n.Content, key, value)
		}
	}
	return nil
}
