// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// Command is a command whose inputs are wanted.
type Command struct {
	Name        string       // of its program
	Args        []string     // Args[0] is its own name
	Env         []string     // what it gets
	Dir         *dir.Dir     // where it runs
	Root        string       // on the host: Dir is below it, and the container can write there; empty: unknown
	RunsDirCode bool         // it runs code from files of its directory, with any arguments
	Confined    bool         // the code that it runs does not reach the host's other files
	Globs       []string     // the files, if a rule names them; otherwise Name decides
	Copies      map[int]Copy // of operands, by argument

	copied bool // an input is one of Copies
}

// kind is a group of programs that find their files in the same way.
type kind struct {
	find    func(*reader) error
	build   bool     // they run code of many other files, too
	unbound []string // what the programs use besides these files
	env     []string // variables that name further files
}

func kindOf(name string) *kind {
	switch base := family(name); base {
	case "make", "gmake", "gnumake":
		return &kind{(*reader).make, true, []string{"sources", "tests", "what recipes run"}, []string{"MAKEFILES", "GNUMAKEFLAGS", "VPATH"}}
	case "npm", "yarn", "pnpm", "bun":
		return &kind{packages[base].find, true, []string{"sources", "tests", "installed packages", "packages of a workspace"}, nil}
	case "docker", "podman", "docker-compose":
		return &kind{(*reader).compose, false, []string{"images", "build contexts", "files that containers mount"},
			[]string{"COMPOSE_FILE", "COMPOSE_ENV_FILES", "COMPOSE_PROJECT_DIRECTORY"}}
	case "git":
		return &kind{(*reader).git, true, []string{"hooks", "commits", "files of the work tree", "files and settings of submodules"}, gitVars}
	default:
		if s, ok := interpreters()[base]; ok {
			return &kind{s.find, false, []string{"what the script reads, imports or runs"}, s.env}
		}
	}
	return nil
}

// family returns the name of a program without its version: python for python3.11.
func family(name string) string {
	short, _, _ := strings.Cut(path.Base(name), ".")
	return strings.TrimRight(strings.TrimRight(short, "0123456789"), "-")
}

// Find returns the inputs of c, or why an approval cannot depend on them. The caller sets Call of the result.
func (c Command) Find() (*Set, error) {
	r := &reader{Command: c, left: maxBytes}
	k := kindOf(c.Name)
	switch {
	case k == nil && len(c.Globs) == 0:
		return nil, fmt.Errorf("nothing says which files %s reads: a rule can name them as inputs", family(c.Name))
	case k == nil:
		k = &kind{build: c.RunsDirCode, unbound: []string{"sources", "tests"}}
	}
	switch {
	case k.build && !c.Confined: // the container can change what it reads while it runs
		return nil, fmt.Errorf("its files do not bind code that it runs (%s): it would have to run in a sandbox (where: sandbox)", strings.Join(k.unbound, ", "))
	case len(c.Globs) > 0:
		if err := r.globs(); err != nil {
			return nil, err
		}
		return r.set([]string{"files that the rule does not name"}), nil
	}
	for _, kv := range c.Env {
		if name, value, _ := strings.Cut(kv, "="); value != "" && slices.Contains(k.env, name) {
			return nil, fmt.Errorf("the variable %s may name more files", name)
		}
	}
	if err := k.find(r); err != nil {
		return nil, err
	}
	return r.set(k.unbound), nil
}

func (r *reader) set(unbound []string) *Set {
	slices.SortFunc(r.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return &Set{Files: r.files, Unbound: unbound, Copied: r.copied && len(r.files) == 1}
}
