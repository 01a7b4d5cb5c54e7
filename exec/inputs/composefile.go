// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// composeFile is what a compose file says of other files.
type composeFile struct {
	Include  []any `yaml:"include"`
	Services map[string]struct {
		Extends     any `yaml:"extends"`
		EnvFile     any `yaml:"env_file"`
		LabelFile   any `yaml:"label_file"`
		Provider    any `yaml:"provider"`
		SecurityOpt any `yaml:"security_opt"`
	} `yaml:"services"`
	Configs map[string]struct{ File string } `yaml:"configs"`
	Secrets map[string]struct{ File string } `yaml:"secrets"`
}

// isYAML reports whether a file may name other files. A file of variables cannot.
func isYAML(name string) bool {
	ext := path.Ext(name)
	return ext == ".yaml" || ext == ".yml" || ext == ".json"
}

// Limits of a compose file, because the container writes it. The parser needs 200 times the size of a file in memory,
// and compares each key of a mapping with all others.
const (
	maxYAML = 256 << 10
	maxKeys = 2000
)

var (
	errCompose   = errors.New("it is not a compose file that can be read")
	errLargeYAML = fmt.Errorf("it has more than %d KiB, or a mapping of more than %d keys", maxYAML>>10, maxKeys)
)

// largeMapping reports whether a mapping in n has more than maxKeys keys.
func largeMapping(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && len(n.Content) > 2*maxKeys || slices.ContainsFunc(n.Content, largeMapping)
}

// decoded returns the next document of a compose file, or io.EOF.
func decoded(in *yaml.Decoder) (doc composeFile, err error) {
	var node yaml.Node
	switch err := in.Decode(&node); {
	case errors.Is(err, io.EOF):
		return doc, io.EOF
	case err != nil:
		return doc, errCompose
	case largeMapping(&node):
		return doc, errLargeYAML
	case node.Decode(&doc) != nil:
		return doc, errCompose
	}
	return doc, doc.check()
}

// named returns the files that a compose file names.
func named(content []byte) (list []string, err error) {
	if len(content) > maxYAML {
		return nil, errLargeYAML
	}
	var inner []string // further compose files
	for in := yaml.NewDecoder(bytes.NewReader(content)); ; {
		doc, err := decoded(in)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, of := range doc.Include {
			for _, name := range paths(of, "path") {
				inner = append(inner, name)
				list = append(list, path.Join(path.Dir(name), ".env")) // the variables of what it includes
			}
		}
		for _, s := range doc.Services {
			if m, ok := s.Extends.(map[string]any); ok {
				inner = append(inner, paths(m, "file")...)
			}
			list = append(list, paths(s.EnvFile, "path")...)
			list = append(list, paths(s.LabelFile)...)
		}
		for _, of := range []map[string]struct{ File string }{doc.Configs, doc.Secrets} {
			for _, f := range of {
				list = append(list, paths(f.File)...)
			}
		}
	}
	if i := slices.IndexFunc(inner, func(name string) bool { return !isYAML(name) }); i >= 0 {
		return nil, fmt.Errorf("%s is not called .yaml, .yml or .json", names.Quoted(inner[i]))
	}
	for _, name := range append(list, inner...) {
		if strings.Contains(name, "$") || remote(name) {
			return nil, fmt.Errorf("a variable or a URL is in %s", names.Quoted(name))
		}
	}
	return append(list, inner...), nil
}

// check returns an error if f may name a file or a program that named does not find.
func (f *composeFile) check() error {
	for _, of := range f.Include {
		if oddKey(of) {
			return errOddKey
		}
		m, _ := of.(map[string]any)
		switch {
		case m["project_directory"] != nil:
			return errors.New("an include has a project directory of its own")
		case m["env_file"] != nil: // below an included file, it is relative to a directory that depends on the files before
			return errors.New("an include has an env_file of its own")
		case len(slices.Compact(dirsOf(paths(of, "path")))) > 1:
			return errors.New("an include has files of several directories")
		}
	}
	for _, s := range f.Services {
		switch {
		case oddKey(s.Extends), oddKey(s.EnvFile), oddKey(s.LabelFile), oddKey(s.SecurityOpt):
			return errOddKey
		case s.Provider != nil:
			return errors.New("a provider is a program")
		case slices.ContainsFunc(paths(s.SecurityOpt), namesProfile):
			return errors.New("a security_opt may name a file")
		}
	}
	return nil
}

// namesProfile reports whether an entry of security_opt may name a file, from which docker compose takes a profile.
func namesProfile(entry string) bool {
	return strings.HasPrefix(entry, "seccomp") && entry != "seccomp:unconfined" && entry != "seccomp=unconfined"
}

var errOddKey = errors.New("a key in it has a tag, or is no text")

// oddKey reports whether a mapping in v has a key that is not simply a text. docker compose accepts some of them.
func oddKey(v any) bool {
	switch v := v.(type) {
	case map[any]any:
		return true
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), oddKey)
	case []any:
		return slices.ContainsFunc(v, oddKey)
	}
	return false
}

func dirsOf(files []string) (dirs []string) {
	for _, name := range files {
		dirs = append(dirs, path.Dir(name))
	}
	return dirs
}

// paths returns the texts of v: a text, a list, or the values of keys.
func paths(v any, keys ...string) (list []string) {
	switch v := v.(type) {
	case string:
		if v != "" {
			list = append(list, v)
		}
	case []any:
		for _, e := range v {
			list = append(list, paths(e, keys...)...)
		}
	case map[string]any:
		for _, key := range keys {
			list = append(list, paths(v[key], keys...)...)
		}
	}
	return list
}
