// SPDX-License-Identifier: Apache-2.0

package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/osenv"
)

// gitDirEntries checks the entries of the repository's directory. The container cannot write them now,
// but it may have created them earlier. Examples are a link into its work tree, a hard link to the
// configuration, a FIFO that blocks git, and a part of the repository in another directory.
func (c *Check) gitDirEntries(at repository) error {
	list, err := entries(at.fdPath)
	if err != nil {
		return &Problem{Reason: "look at the repository: " + err.Error()}
	}
	for _, f := range list {
		if f.Name() == "commondir" {
			return &Problem{Reason: at.dir + " has a part elsewhere: see its file commondir"}
		}
		if err := c.file(at, f); err != nil {
			return err
		}
	}
	return nil
}

// files checks the parts of a repository other than its configuration.
func (c *Check) files(at repository, line commandLine, cfg *config) error {
	for _, name := range []string{"remotes", "branches"} {
		if list, err := entries(path.Join(at.fdPath, name)); network(line.verb) && (err != nil || len(list) > 0) {
			return &Problem{Reason: fmt.Sprintf("%s/%s has addresses of remotes outside of the configuration", at.dir, name), Fix: "git remote add, and remove them"}
		}
	}
	if err := c.hooks(at, cfg); err != nil {
		return err
	}
	parts := shownParts
	if !line.reads() {
		parts = slices.Concat(parts, writtenParts)
	}
	if err := checkNoLinksBelow(at, parts); err != nil {
		return err
	}
	return c.alternates(at)
}

// entries returns the entries of directory name, or none if it does not exist.
func entries(name string) ([]fs.FileInfo, error) {
	d, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.Readdir(maxEntries + 1) // does not follow links
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(list) > maxEntries {
		return nil, fmt.Errorf("%s has more than %d entries", name, maxEntries)
	}
	return list, nil
}

// file checks one entry of such a directory. Through a link, git could write any file of the host,
// or read a file that the container can write.
func (c *Check) file(at repository, f fs.FileInfo) error {
	name := path.Join(at.dir, f.Name())
	switch {
	case f.Mode()&fs.ModeSymlink != 0:
		return errLink(name)
	case f.IsDir(), f.Mode()&fs.ModeSocket != 0: // the socket of git's file system monitor
	case !f.Mode().IsRegular():
		return errNoFile(name)
	case hardLinks(f) > 1:
		return &Problem{Reason: name + " has another name, by which the container may write it", Fix: "put a copy in its place"}
	}
	return nil
}

func errLink(name string) error {
	return &Problem{Reason: quoted(name) + " is a link", Fix: "put the file in its place"}
}

func errNoFile(name string) error {
	return &Problem{Reason: quoted(name) + " is not a file", Fix: "remove it"}
}

// shownParts are the directories of a repository whose files git quotes: grafts and attributes
// that it does not understand, the steps of a rebase, where other work trees are. A link there
// has git show any file of the host.
var shownParts = []string{"info", "objects/info", "rebase-apply", "rebase-merge", "sequencer", "worktrees"}

// writtenParts are those at whose names git writes: references and their logs. Objects have
// new names, and modules are other repositories.
var writtenParts = []string{"logs", "refs"}

// checkNoLinksBelow checks that there is neither a link nor a pipe below the directories parts.
func checkNoLinksBelow(at repository, parts []string) error {
	left := maxNames
	var found error
	for _, top := range parts {
		err := filepath.WalkDir(path.Join(at.fdPath, top), func(name string, e fs.DirEntry, err error) error {
			left--
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case left < 0:
				return fmt.Errorf("there are more than %d files", maxNames)
			case e.Type()&fs.ModeSymlink != 0:
				found = errLink(path.Join(at.dir, strings.TrimPrefix(name, at.fdPath)))
			case !e.IsDir() && !e.Type().IsRegular():
				found = errNoFile(path.Join(at.dir, strings.TrimPrefix(name, at.fdPath)))
			}
			if found != nil {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			return &Problem{Reason: fmt.Sprintf("look at %s of %s: %v", top, at.dir, err)}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// hooks checks the hooks that git runs, in the directory of the effective core.hooksPath.
func (c *Check) hooks(at repository, cfg *config) error {
	where, set := cfg.last("core.hookspath")
	if set {
		if rest, ok := strings.CutPrefix(where, "~/"); ok && osenv.Get(c.Env, "HOME") != "" {
			where = path.Join(osenv.Get(c.Env, "HOME"), rest)
		}
		if !path.IsAbs(where) || c.Mounts.Writable(where) {
			return &Problem{Reason: fmt.Sprintf("core.hooksPath is %s, which the container can write", quoted(where)), Fix: "prepend: [-c, core.hooksPath=/dev/null]"}
		}
		return nil
	}
	list, err := entries(path.Join(at.fdPath, "hooks"))
	if err != nil {
		return &Problem{Reason: "look at hooks: " + err.Error()}
	}
	for _, f := range list {
		if !strings.HasSuffix(f.Name(), ".sample") {
			return &Problem{Reason: fmt.Sprintf("%s/hooks has %s", at.dir, quoted(f.Name())), Fix: "prepend: [-c, core.hooksPath=/dev/null]"}
		}
	}
	return nil
}

// alternates checks the directories from which the repository borrows objects.
func (c *Check) alternates(at repository) error {
	name := path.Join(at.fdPath, "objects", "info", "alternates")
	for _, part := range []string{path.Dir(name), name} {
		if f, err := os.Lstat(part); err == nil && f.Mode()&fs.ModeSymlink != 0 {
			return errLink(at.dir + "/objects/info")
		}
	}
	f, err := dir.OpenPlain(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var b []byte
	if err == nil {
		defer f.Close()
		b, err = io.ReadAll(io.LimitReader(f, maxPaths+1))
	}
	if err == nil && len(b) > maxPaths {
		err = fmt.Errorf("it has more than %d bytes", maxPaths)
	}
	if err != nil {
		return &Problem{Reason: fmt.Sprintf("read objects/info/alternates of %s: %v", at.dir, err)}
	}
	for l := range strings.Lines(string(b)) {
		l = strings.TrimSuffix(l, "\n")
		if l == "" || l[0] == '#' {
			continue
		}
		if !path.IsAbs(l) {
			l = path.Join(at.dir, "objects", l)
		}
		if l[len(l)-1] == '"' || c.Mounts.Writable(l) {
			return &Problem{Reason: fmt.Sprintf("objects/info/alternates of %s names %s, which the container can write", at.dir, quoted(l)), Fix: "git repack -a -d, and remove the file"}
		}
	}
	return nil
}
