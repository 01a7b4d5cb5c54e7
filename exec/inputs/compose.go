// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

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

// podmanFiles are further files that podman-compose finds, and reads together with all others. docker can be podman,
// too.
var podmanFiles = []string{
	"podman-compose.yaml", "podman-compose.yml", "container-compose.yml", "container-compose.yaml",
	"container-compose.override.yml", "container-compose.override.yaml",
}

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
	for i, o := range options {
		if len(o.name) == 1 && o.index == 0 { // -f=x.yaml
			options[i].value = strings.TrimPrefix(o.value, "=")
		}
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
		switch {
		case name == "-":
			return errors.New("it reads a compose file from its standard input")
		case remote(name):
			return fmt.Errorf("%s may be the address of a repository", names.Quoted(name))
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
	return p.defaultFiles()
}

// remote reports whether docker compose may take the name of a file for the address of a repository or an image.
func remote(name string) bool {
	return strings.Contains(name, ":") || strings.HasPrefix(name, "github.com/")
}

// defaultFiles reads the compose files that docker compose finds by itself.
func (p *project) defaultFiles() error {
	if path.Clean(p.dir) != "." {
		return errors.New("it looks for compose files in the directory of --project-directory: --file would name them")
	}
	found := false
	for i, name := range slices.Concat(composeFiles, overrideFiles, podmanFiles) {
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
