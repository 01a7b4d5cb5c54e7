// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// composeOptions are the options of docker compose before its verb.
var composeOptions = grammar{
	values:    "fp",
	longFlags: names.WordSet("compatibility dry-run all-resources verbose"),
	longs:     names.WordSet("file env-file project-directory project-name profile ansi progress parallel"),
	first:     true,
}

// composeFiles are the files that docker compose finds by itself.
var composeFiles = []string{"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"}

var overrideFiles = []string{"compose.override.yaml", "compose.override.yml", "docker-compose.override.yml", "docker-compose.override.yaml"}

// compose reads the files of a project of docker compose: those that it names, and those that they name.
func (r *reader) compose() error {
	at := 1
	if family(r.Name) != "docker-compose" {
		if len(r.Args) < 2 || r.Args[1] != "compose" {
			return errors.New("nothing says which files it reads: a rule can name them as inputs")
		}
		at = 2
	}
	options, _, err := composeOptions.parse(r.Args, at)
	if err != nil {
		return err
	}
	p := project{reader: r}
	return p.read(options)
}

// project is a project of docker compose while its files are read.
type project struct {
	*reader
	dir string // below the directory of the call: relative paths in the files begin there
}

func (p *project) read(options []option) error {
	var given, envs []string
	for _, o := range options {
		switch o.name {
		case "f", "file":
			given = append(given, o.value)
		case "env-file":
			envs = append(envs, o.value)
		case "project-directory":
			p.dir = o.value
		}
	}
	if p.dir == "" && len(given) > 0 {
		p.dir = path.Dir(given[0])
	}
	if err := local(path.Clean(p.dir)); err != nil {
		return err
	}
	if len(envs) == 0 { // both may be read
		envs = []string{".env", path.Join(p.dir, ".env")}
	}
	for _, name := range envs {
		if err := p.env(name); err != nil {
			return err
		}
	}
	return p.files(given)
}

// env reads a file of variables. Some of them name files.
func (p *project) env(name string) error {
	f, err := p.add(name)
	if err != nil {
		return err
	}
	for _, key := range []string{"COMPOSE_FILE", "COMPOSE_ENV_FILES", "COMPOSE_PROJECT_DIRECTORY"} {
		if bytes.Contains(f.Content, []byte(key)) {
			return fmt.Errorf("%s may name more files with %s", name, key)
		}
	}
	return nil
}

// files reads the compose files. Without given ones, it reads those of the directory of the call.
func (p *project) files(given []string) error {
	for _, name := range given {
		if name == "-" {
			return errors.New("it reads a compose file from its standard input")
		}
		f, err := p.need(name)
		if err != nil {
			return err
		}
		if err := p.follow(*f); err != nil {
			return err
		}
	}
	if len(given) > 0 {
		return nil
	}
	found := false
	for i, name := range append(composeFiles[:len(composeFiles):len(composeFiles)], overrideFiles...) {
		f, err := p.add(name)
		if err != nil {
			return err
		}
		found = found || !f.Absent && i < len(composeFiles)
		if err := p.follow(*f); err != nil {
			return err
		}
	}
	if !found {
		return errors.New("there is no compose file in the directory of the call")
	}
	return nil
}

// composeFile is what a compose file says of other files.
type composeFile struct {
	Include  []any `yaml:"include"`
	Services map[string]struct {
		Extends   any `yaml:"extends"`
		EnvFile   any `yaml:"env_file"`
		LabelFile any `yaml:"label_file"`
	} `yaml:"services"`
	Configs map[string]struct{ File string } `yaml:"configs"`
	Secrets map[string]struct{ File string } `yaml:"secrets"`
}

// follow reads the files that f names, and those that they name.
func (p *project) follow(f File) error {
	for todo := []File{f}; len(todo) > 0; todo = todo[1:] {
		list, err := named(todo[0].Content)
		if err != nil {
			return fmt.Errorf("%s: %w", todo[0].Path, err)
		}
		for _, name := range list {
			// It is relative to the file, or to the project.
			for _, from := range []string{path.Dir(todo[0].Path), p.dir} {
				if err := local(name); err != nil {
					return err
				}
				before := len(p.reader.files)
				g, err := p.add(path.Join(from, name))
				if err != nil {
					return err
				}
				if len(p.reader.files) > before && isYAML(name) {
					todo = append(todo, *g)
				}
			}
		}
	}
	return nil
}

// isYAML reports whether a file may name other files. A file of variables cannot.
func isYAML(name string) bool {
	ext := path.Ext(name)
	return ext == ".yaml" || ext == ".yml" || ext == ".json"
}

// named returns the files that a compose file names.
func named(content []byte) (list []string, err error) {
	var inner []string // further compose files
	for in := yaml.NewDecoder(bytes.NewReader(content)); ; {
		var doc composeFile
		if err := in.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, errors.New("it is not a compose file that can be read")
		}
		for _, of := range doc.Include {
			list = append(list, paths(of, "env_file")...)
			for _, name := range paths(of, "path") {
				inner = append(inner, name)
				list = append(list, path.Join(path.Dir(name), ".env")) // the variables of what it includes
			}
			if m, ok := of.(map[string]any); ok && m["project_directory"] != nil {
				return nil, errors.New("an include has a project directory of its own")
			}
			if dirs := slices.Compact(dirsOf(paths(of, "path"))); len(dirs) > 1 {
				return nil, errors.New("an include has files of several directories")
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
		if strings.ContainsAny(name, "$:") {
			return nil, fmt.Errorf("a variable or a URL is in %s", names.Quoted(name))
		}
	}
	return append(list, inner...), nil
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
