// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// project has the services web and db.
func project(name string) bool { return name == "web" || name == "db" }

func TestParse(t *testing.T) {
	tests := []struct {
		args           string
		command, words string   // words: with the file x
		named          []string // services
		oneoff         string
	}{
		{"up -d", "up", "--file x up -d", nil, ""},
		{"up -d web --scale db=2", "up", "--file x up -d web --scale db=2", []string{"web", "db"}, ""},
		{"-f a --file b -fc --file=d -p p up", "up", "-p p --file x up", nil, ""},
		{"--profile a --dry-run --env-file=e -p=q ps -f x", "ps", "--profile a --dry-run --env-file=e -p=q --file x ps -f x", nil, ""},
		{"run --rm -e db -v /a:/b web make db", "run", "--file x run --rm -e db -v /a:/b web make db", []string{"web"}, "web"},
		{"run -it --name=db --entrypoint sh web", "run", "--file x run -it --name=db --entrypoint sh web", []string{"web"}, "web"},
		{"run --of-tomorrow web", "run", "--file x run --of-tomorrow web", []string{"web"}, "web"},
		{"scale web=3", "scale", "--file x scale web=3", []string{"web"}, ""},
		{"config web", "config", "--file x config web", nil, ""},
		{"-- up", "up", "--file x up", nil, ""},
		{"", "", "--file x", nil, ""},
	}
	for _, tt := range tests {
		a, err := Parse(strings.Fields(tt.args))
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.args, err)
			continue
		}
		if got := strings.Join(a.Words([]string{"x"}), " "); a.Command != tt.command || got != tt.words {
			t.Errorf("Parse(%q) is %q: %q, want %q: %q", tt.args, a.Command, got, tt.command, tt.words)
		}
		if got := a.Named(project); !slices.Equal(got, tt.named) || a.Oneoff(project) != tt.oneoff {
			t.Errorf("%q is about %q and %q, want %q and %q", tt.args, got, a.Oneoff(project), tt.named, tt.oneoff)
		}
	}
	if _, err := Parse([]string{"--nonsense", "up"}); err == nil {
		t.Error("an unknown flag is known")
	}
}

func TestFilesOf(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/compose.yml", "a/compose.yaml", "a/compose.override.yml", "a/b/c/none", "d/docker-compose.yaml"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755), os.WriteFile(filepath.Join(dir, name), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		args  string
		where Where

		cwd, want, dir string
	}{
		{"up", Where{}, "a", "a/compose.yaml a/compose.override.yml", "a"},
		{"up", Where{}, "a/b/c", "a/compose.yaml a/compose.override.yml", "a"},
		{"up", Where{}, "d", "d/docker-compose.yaml", "d"},
		{"--project-directory ../d up", Where{}, "a", "d/docker-compose.yaml", "d"},
		{"up", Where{Files: "x.yaml:y.yaml"}, "a", "x.yaml y.yaml", "a"},
		{"up", Where{Files: "x.yaml;y.yaml", Separator: ";"}, "a", "x.yaml y.yaml", "a"},
		{"-f ../d/docker-compose.yaml up", Where{Files: "x.yaml"}, "a", "../d/docker-compose.yaml", "d"},
	}
	for _, tt := range tests {
		a, err := Parse(strings.Fields(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		cwd := filepath.Join(dir, tt.cwd)
		files, err := a.FilesOf(tt.where, cwd)
		got := strings.ReplaceAll(strings.Join(files, " "), dir+"/", "")
		if err != nil || got != tt.want || a.DirectoryOf(files, cwd) != filepath.Join(dir, tt.dir) {
			t.Errorf("%q in %s with %+v: %q of %s, %v, want %q of %s", tt.args, tt.cwd, tt.where, got, a.DirectoryOf(files, cwd), err, tt.want, tt.dir)
		}
	}
	for args, want := range map[string]error{"-f - up": ErrStdin, "up": ErrNoFile} {
		a, _ := Parse(strings.Fields(args))
		if _, err := a.FilesOf(Where{}, dir); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", args, err, want)
		}
	}
}

// TestAskAbout: a service that is called like a flag is none.
func TestAskAbout(t *testing.T) {
	a, err := Parse([]string{"-p", "p", "up", "-d"})
	if err != nil {
		t.Fatal(err)
	}
	for want, services := range map[string][]string{
		"-p p --file x build -- web --push": {"web", "--push"},
		"-p p --file x build":               nil,
	} {
		if got := strings.Join(a.AskAbout([]string{"x"}, "build", services...), " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
