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

	"github.com/docker-hostexec/hostexec/exec/osenv"
)

// gitDirEntries checks the entries of the repository's directory. The container cannot write them now, but it may have
// created them earlier. Examples are a link into its work tree and a hard link to the configuration. Others are a FIFO
// that blocks git, and a part of the repository in another directory.
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
		parts = append(slices.Clone(parts), "logs") // git writes them
	}
	if err := checkNoLinksBelow(at, parts); err != nil {
		return err
	}
	if err := checkNoLinksBelow(at, objects); err != nil { // with a limit of their own: there may be many
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

// file checks one entry of the repository's directory. Through a link, git could write any file of the host,
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

// shownParts are the directories of a repository whose content git shows. Examples are invalid grafts and attributes,
// the steps of a rebase, the locations of other work trees, and references. Through a link there, git would show any
// file of the host. The directory modules is not among them: it has other repositories.
var shownParts = []string{"info", "rebase-apply", "rebase-merge", "refs", "sequencer", "worktrees"}

// objects has the content of the repository. Through a link there, git would show another repository of the host.
var objects = []string{"objects"}

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
	where, set := cfg.value("core.hookspath")
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

// alternates refuses a repository that borrows objects: git would show those of any repository of the host.
func (c *Check) alternates(at repository) error {
	_, err := os.Lstat(path.Join(at.fdPath, "objects", "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &Problem{Reason: at.dir + " has objects/info/alternates, which names objects of other repositories", Fix: "git repack -a -d, and remove the file"}
}
