// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// The names that compose looks for, in its order (compose-go, cli.DefaultFileNames).
var (
	fileNames     = []string{"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"}
	overrideNames = []string{"compose.override.yml", "compose.override.yaml", "docker-compose.override.yml", "docker-compose.override.yaml"}
)

// ErrStdin says that the model is read from where nobody can read it twice.
var ErrStdin = errors.New("--file -: the model is needed twice, and cannot be read from stdin: put it into a file")

// ErrNoFile says that compose would find no file.
var ErrNoFile = errors.New("no compose file is found here, or in a directory above")

// Where is what compose's variables say of where its files are.
type Where struct {
	Files     string `yaml:"files"`     // COMPOSE_FILE
	Separator string `yaml:"separator"` // COMPOSE_PATH_SEPARATOR
}

// Question is a file that has compose itself say Where: the variables may stand in an .env
// file, and what compose lists of its environment has a line for each line of a value.
const Question = `{"name": "x", "services": {"x": {"image": "x", "labels": {"files": "${COMPOSE_FILE-}", "separator": "${COMPOSE_PATH_SEPARATOR-}"}}}}`

// ReadWhere reads what compose config makes of Question.
func ReadWhere(text []byte) (Where, error) {
	var m struct {
		Services map[string]struct {
			Labels Where `yaml:"labels"`
		} `yaml:"services"`
	}
	err := read(text, &m)
	return m.Services["x"].Labels, err
}

// FilesOf returns the files that compose would take: those of the command line, or those of
// w, or those that it finds from the directory cwd up.
func (a Args) FilesOf(w Where, cwd string) ([]string, error) {
	files := a.Files
	if len(files) == 0 && w.Files != "" {
		files = strings.Split(w.Files, cmp.Or(w.Separator, string(os.PathListSeparator)))
	}
	for _, f := range files {
		if f == "-" {
			return nil, ErrStdin
		}
	}
	if len(files) > 0 {
		return files, nil
	}
	return find(at(cwd, a.Directory))
}

// find looks for a file, and one beside it that overrides it, from dir up.
func find(dir string) ([]string, error) {
	for {
		if file := first(dir, fileNames); file != "" {
			if more := first(dir, overrideNames); more != "" {
				return []string{file, more}, nil
			}
			return []string{file}, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return nil, ErrNoFile
		}
		dir = up
	}
}

func first(dir string, names []string) string {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name)
		}
	}
	return ""
}

// DirectoryOf returns the project's directory, which paths in files are relative to.
func (a Args) DirectoryOf(files []string, cwd string) string {
	if a.Directory != "" {
		return at(cwd, a.Directory)
	}
	if _, err := os.Stat(at(cwd, files[0])); err != nil {
		return cwd // it is from elsewhere, oci:// say
	}
	return filepath.Dir(at(cwd, files[0]))
}

func at(cwd, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(cwd, path)
}
