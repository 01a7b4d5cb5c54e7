// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// Limits of a search for files that patterns name.
const (
	maxEntries = 20000 // of all directories together
	maxDepth   = 32
)

// CheckGlob returns an error if a pattern is not valid. * and ? match within a name, and ** matches any number of
// directories.
func CheckGlob(glob string) error {
	if err := local(glob); err != nil {
		return err
	}
	for part := range strings.SplitSeq(glob, "/") {
		if _, err := path.Match(part, "x"); err != nil || part == "" || part != "**" && strings.Contains(part, "**") {
			return fmt.Errorf("%s is not a pattern: * matches in a name, and ** any directories", glob)
		}
	}
	return nil
}

// globs reads the files that the patterns of the rule name. A pattern without * ? [ names one file, which may be
// absent.
func (r *reader) globs() error {
	s := search{reader: r, left: maxEntries}
	for _, glob := range r.Globs {
		if err := CheckGlob(glob); err != nil {
			return err
		}
		if !strings.ContainsAny(glob, "*?[\\") {
			if _, err := r.add(glob); err != nil {
				return err
			}
			continue
		}
		if err := s.below(".", strings.Split(glob, "/"), 0); err != nil {
			return err
		}
	}
	if len(r.files) == 0 {
		return errors.New("the patterns of the rule name no file")
	}
	return nil
}

// search finds files that patterns name.
type search struct {
	*reader
	left int // entries that may still be looked at
}

// below reads the files below the directory at that the parts of a pattern match.
func (s *search) below(at string, parts []string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s is too deep", at)
	}
	list, err := s.list(at)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if parts[0] == "**" && len(parts) > 1 {
		if err := s.match(at, list, parts[1:], depth); err != nil {
			return err
		}
	}
	return s.match(at, list, parts, depth)
}

// match reads the entries of the directory at that the first part matches.
func (s *search) match(at string, list []fs.DirEntry, parts []string, depth int) error {
	for _, e := range list {
		name, deep := path.Join(at, e.Name()), parts[0] == "**"
		if ok, _ := path.Match(parts[0], e.Name()); !ok && !deep {
			continue
		}
		var err error
		switch {
		case e.IsDir() && deep:
			err = s.below(name, parts, depth+1)
		case e.IsDir() && len(parts) > 1:
			err = s.below(name, parts[1:], depth+1)
		case e.Type()&fs.ModeSymlink != 0 && (deep || len(parts) > 1):
			err = fmt.Errorf("%s is a link, which is not followed", strconv.QuoteToASCII(name))
		case !e.IsDir() && len(parts) == 1:
			_, err = s.add(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *search) list(at string) ([]fs.DirEntry, error) {
	d := s.Dir
	if at != "." {
		inner, err := s.Dir.OpenBelow(at)
		if err != nil {
			return nil, err
		}
		defer inner.Close()
		d = inner
	}
	return entries(d, &s.left)
}

// entries returns the entries of d, which count against left.
func entries(d *dir.Dir, left *int) ([]fs.DirEntry, error) {
	f, err := os.Open("/proc/self/fd/" + strconv.Itoa(d.FD()))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readEntries(f, left)
}

func readEntries(f fs.ReadDirFile, left *int) ([]fs.DirEntry, error) {
	list, err := f.ReadDir(*left + 1)
	if *left -= len(list); *left < 0 {
		return nil, fmt.Errorf("there are more than %d files to look at", maxEntries)
	}
	if errors.Is(err, io.EOF) { // the directory is empty
		err = nil
	}
	return list, err
}
