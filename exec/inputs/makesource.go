// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// make first rebuilds each makefile by its implicit rules. If there is a newer Makefile.sh, make does not use the
// content of the Makefile (GNU make manual, sections 3.5 and 10.2).

// madeFrom contains the suffixes X for which an implicit rule makes NAME from NAME.X.
var madeFrom = names.WordSet("o a c cc C cpp p f F m r y l ym yl s S mod sym w web sh tex texinfo texi txinfo ch")

// searches matches VPATH and vpath, by which make finds makefiles and their sources in other directories.
var searches = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)\bVPATH\b|^\s*vpath\b`) })

// ownOptions matches assignments of options by which make reads other files: -I, -E, --include-dir, --eval and computed
// ones. make 4.4 applies them to the includes that follow.
var ownOptions = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)\bMAKEFLAGS[ \t]*[:+?!]*=(.*[ \t])?(-?[A-Za-z]*[IE]|--(include|eval)|.*\$)` +
		`|GNUMAKEFLAGS[ \t]*[:+?!]*=`)
})

// rebuilt returns an error if make may rebuild one of the files from another one.
func (r *reader) rebuilt() error {
	s := search{reader: r, left: maxEntries}
	done := map[string][]string{}
	for _, f := range r.files {
		if searches().Match(f.Content) {
			return fmt.Errorf("make may rebuild %s from a file in a directory of VPATH", f.Path)
		}
		at := path.Dir(f.Path)
		if _, ok := done[at]; !ok {
			list, err := s.list(at)
			if err != nil && !absent(err) {
				return fmt.Errorf("%s: %w", at, err)
			}
			done[at] = []string{}
			for _, e := range list {
				done[at] = append(done[at], e.Name())
			}
		}
		for _, name := range done[at] {
			if makes(name, path.Base(f.Path)) {
				return fmt.Errorf("make may rebuild %s from %s", f.Path, names.Quoted(path.Join(at, name)))
			}
		}
	}
	return nil
}

// makes reports whether make has a rule to make base from name, in one or more steps.
func makes(name, base string) bool {
	if name == "RCS" || name == "SCCS" {
		return true
	}
	source := strings.TrimSuffix(strings.TrimPrefix(name, "s."), ",v")
	rest, ok := strings.CutPrefix(source, base+".")
	return ok && madeFrom(rest) || source == base && source != name
}

// makefile checks the content of a makefile that is read as lines and words, and returns it as make reads it.
func makefile(content []byte) (string, error) {
	if bytes.IndexByte(content, 0) >= 0 { // make joins the lines before and after it
		return "", errors.New("it is not a text")
	}
	text := strings.TrimPrefix(string(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))), "\ufeff")
	text = continued().ReplaceAllString(text, "$1$2 ")
	if evals().MatchString(text) {
		return "", errEval
	}
	if ownOptions().MatchString(text) {
		return "", errors.New("the options in its MAKEFLAGS may name more files")
	}
	return text, nil
}
