// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// makeOptions are the options of GNU make. -E and -I are missing: they make it read further files.
var makeOptions = grammar{
	flags: "bBdeikLmnpqrRsStvw", values: "fCoW", optional: "jlO",
	longFlags: names.WordSet(`always-make environment-overrides ignore-errors keep-going check-symlink-times just-print dry-run recon print-data-base question
		no-builtin-rules no-builtin-variables silent quiet no-silent no-keep-going stop touch trace version print-directory no-print-directory
		warn-undefined-variables`),
	longs:     names.WordSet("file makefile directory old-file assume-old what-if new-file assume-new"),
	optionals: names.WordSet("jobs load-average max-load output-sync debug shuffle"),
}

// filesVars matches variables that name makefiles, or lead to some.
var filesVars = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(MAKEFILES|MAKEFLAGS|GNUMAKEFLAGS|VPATH)\s*[:+?!]*=`)
})

var errEval = errors.New("it computes a part of itself with eval")

// make reads the makefiles and the files that they include.
func (r *reader) make() error {
	options, _, err := makeOptions.parse(r.Args, 1)
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(r.Args, evals().MatchString): // variables
		return errEval
	case slices.ContainsFunc(r.Args, filesVars().MatchString):
		return errors.New("a variable among its arguments may name more files")
	}
	if err := r.makeFlags(); err != nil {
		return err
	}
	at, given := ".", []option(nil)
	for _, o := range options {
		switch o.name {
		case "C", "directory":
			if err := local(o.value); err != nil {
				return err
			}
			at = path.Join(at, o.value)
		case "f", "file", "makefile":
			given = append(given, o)
		}
	}
	if len(given) == 0 {
		err = r.defaultMakefile(at)
	}
	for _, o := range given {
		if err := r.givenMakefile(at, o); err != nil {
			return err
		}
	}
	return cmp.Or(err, r.rebuilt())
}

// makeFlags refuses options in the environment that may name files.
func (r *reader) makeFlags() error {
	for _, kv := range r.Env {
		if value, ok := strings.CutPrefix(kv, "MAKEFLAGS="); ok && strings.Trim(value, " -jks0123456789") != "" {
			return errors.New("the variable MAKEFLAGS may name more files")
		}
	}
	return nil
}

// defaultMakefile reads the makefile that make finds by itself, in its order (GNU make manual, section 3.2).
func (r *reader) defaultMakefile(at string) error {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		f, err := r.add(path.Join(at, name))
		if err != nil {
			return err
		}
		if !f.Absent {
			return r.includes(at, f.Path, f.Content)
		}
	}
	return errors.New("there is no makefile in the directory of the call")
}

func (r *reader) givenMakefile(at string, o option) error {
	if o.value == "-" {
		return errors.New("it reads a makefile from its standard input")
	}
	var f *File
	var err error
	if _, ok := r.Copies[o.index]; ok && o.index > 0 {
		f, err = r.operand(o.index)
	} else if err = local(o.value); err == nil {
		f, err = r.need(path.Join(at, o.value))
	}
	if err != nil {
		return err
	}
	return r.includes(at, f.Path, f.Content)
}

// includes reads the files that the makefile name includes, and those that they include. make runs in the directory at.
func (r *reader) includes(at, name string, content []byte) error {
	todo := []File{{Path: name, Content: content}}
	for len(todo) > 0 {
		f := todo[0]
		todo = todo[1:]
		list, err := included(f.Content)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		for _, inner := range list {
			if err := local(inner); err != nil {
				return err
			}
			before := len(r.files)
			g, err := r.add(path.Join(at, inner))
			if err != nil {
				return err
			}
			if len(r.files) > before {
				todo = append(todo, *g)
			}
		}
	}
	return nil
}

// evals matches the parts of a makefile that can compute further parts. These are eval, a call of a function whose name
// is computed, and a second expansion of a variable's value.
var evals = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$[({](eval|guile|call\s+[^,)}]*(\$|eval))|\.SECONDEXPANSION`)
})

// continued matches a newline that continues a line: an odd number of backslashes precedes it.
var continued = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[^\\])((?:\\\\)*)\\\n`) })

// included returns the names of the files that a makefile includes literally. Lines of recipes count, too.
func included(content []byte) (list []string, err error) {
	text, err := makefile(content)
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "load", "-load":
			return nil, errors.New("it loads a library")
		case "include", "-include", "sinclude":
			if strings.ContainsAny(line, `$*?[~\`) || !printable(strings.ReplaceAll(line, "\t", " ")) { // only ASCII separates words
				return nil, fmt.Errorf("a variable or a pattern is in %s", names.Quoted(strings.Join(words, " ")))
			}
			list = append(list, words[1:]...)
		}
	}
	return list, nil
}
