// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// indexedTest is what the source says of a test function.
type indexedTest struct {
	attacks []int // that it says it runs
	asserts bool  // it, or a function of its package that it calls, fails on more than an error
	skips   bool
	runs    bool // in make check
}

// index are all tests by their package and name, as exec/policy.TestMatch.
type index map[string]*indexedTest

// lacks is what keeps a test from being proof of anything, or nothing.
func (x index) lacks(name string) string {
	switch f := x[name]; {
	case f == nil:
		return "does not exist"
	case f.skips:
		return "can be skipped"
	case !f.runs:
		return "does not run in make check"
	case !f.asserts:
		return "contains no assertion"
	}
	return ""
}

var (
	isTest     = regexp.MustCompile(`^(Test|Fuzz)[A-Z0-9]`)
	directive  = regexp.MustCompile(`(?m)^Attacks? ([0-9]+(?:, [0-9]+)*)\.$`)
	fails      = regexp.MustCompile(`\.(Error|Errorf|Fatal|Fatalf|Fail|FailNow)$`)
	setupFiles = regexp.MustCompile(`^(harness|container|call|image|build|procs|users|proxy|browser|term|engine|registry|scriptedcalls)_test\.go$`)
	judges     = regexp.MustCompile(`^(want|within|eventually|until|Expect|Ends|Gone)$`)
	skipping   = regexp.MustCompile(`\.(Skip|Skipf|SkipNow)$|^testing\.Short$`)
)

var (
	indexOnce sync.Once
	indexed   index // nil: what reads it has failed
)

// testIndex reads the tests of this module, once.
func testIndex(t *testing.T) index {
	t.Helper()
	indexOnce.Do(func() { indexed = newIndex(t) })
	if indexed == nil {
		t.Fatal("an earlier test could not read the tests")
	}
	return indexed
}

func newIndex(t *testing.T) index {
	t.Helper()
	unit, parts := runBy(t)
	x, all, byDecl := index{}, map[string]helpers{}, map[*ast.FuncDecl]helper{} // all: by package
	for _, s := range sources(t) {
		if all[s.dir] == nil {
			all[s.dir] = helpers{}
		}
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test && f.Body != nil {
				byDecl[f] = helper{f, s.name, factsOf(f)}
				all[s.dir][f.Name.Name] = append(all[s.dir][f.Name.Name], byDecl[f])
			}
		}
	}
	for _, s := range sources(t) {
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !s.test || f.Recv != nil || !isTest.MatchString(f.Name.Name) {
				continue
			}
			it := &indexedTest{attacks: declared(s.ast, f)}
			it.asserts, it.skips = all[s.dir].walk(byDecl[f], s.name, map[*ast.FuncDecl]bool{})
			name := f.Name.Name
			it.runs = !unit.MatchString(name) || (s.dir == "e2e" || strings.HasPrefix(s.dir, "e2e/")) && parts.MatchString(name)
			x[s.dir+"."+name] = it
		}
	}
	return x
}

// declared are the attacks that comments above or within f name.
func declared(file *ast.File, f *ast.FuncDecl) (all []int) {
	for _, c := range file.Comments {
		if within := c.Pos() >= f.Pos() && c.End() <= f.End(); !within && c != f.Doc {
			continue
		}
		for _, m := range directive.FindAllStringSubmatch(c.Text(), -1) {
			for _, n := range strings.Split(m[1], ", ") {
				n, _ := strconv.Atoi(n)
				all = append(all, n)
			}
		}
	}
	return all
}

// helper is a function of a package's tests, and the file that it is in.
type helper struct {
	*ast.FuncDecl
	file string
	*facts
}

// facts describe the body of a function, without the functions that it calls.
type facts struct {
	asserts bool     // it fails the test on other conditions than an error
	skips   bool     // it skips the test
	names   []string // its identifiers: among them the functions that it calls or passes on
}

func factsOf(f *ast.FuncDecl) *facts {
	var is facts
	seen := map[string]bool{}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name := sourceText(n.Fun)
			is.skips = is.skips || skipping.MatchString(name)
			is.asserts = is.asserts || fails.MatchString(name) && !onlyError(n)
		case *ast.Ident:
			if !seen[n.Name] {
				seen[n.Name] = true
				is.names = append(is.names, n.Name)
			}
		}
		return true
	})
	return &is
}

// helpers are the functions of a package's tests by name.
type helpers map[string][]helper

// walk follows f to the functions of its package that it names, and reports whether something
// fails the test of the file home, and whether something skips it. Functions of other files
// of e2e that set something up fail, too, when that does not succeed: of those only the judges
// count.
func (hs helpers) walk(f helper, home string, been map[*ast.FuncDecl]bool) (asserts, skips bool) {
	if been[f.FuncDecl] {
		return false, false
	}
	been[f.FuncDecl] = true
	counts := f.file == home || judges.MatchString(f.Name.Name) || !setupFiles.MatchString(f.file)
	asserts, skips = counts && f.asserts, f.skips
	for _, name := range f.names {
		for _, g := range hs[name] {
			a, s := hs.walk(g, home, been)
			asserts, skips = asserts || a, skips || s
		}
	}
	return asserts, skips
}

// onlyError reports whether a call only fails the test on an error, as code that sets something up
// may.
func onlyError(call *ast.CallExpr) bool {
	return len(call.Args) == 1 && sourceText(call.Args[0]) == "err"
}

// runBy reads two patterns from the Makefile: unit matches the tests that UNIT skips, and parts those that PARTS run.
func runBy(t *testing.T) (unit, parts *regexp.Regexp) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	value := func(pattern string) string {
		m := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(string(text))
		if m == nil {
			t.Fatalf("the Makefile has no line %s", pattern)
		}
		return m[1]
	}
	check := value(`^check:.*\n((?:\t.*\n)+)`)
	for _, target := range []string{" $(firstword $(PARTS))", " race ", "$(filter-out $(firstword $(PARTS)),$(PARTS))"} {
		if !strings.Contains(check, target) {
			t.Fatalf("make check does not make %s", target)
		}
	}
	unit = regexp.MustCompile(value(`^UNIT\s*:= -skip '(.+)'$`))
	return unit, regexp.MustCompile(strings.Join(strings.Fields(value(`^PARTS\s*:= (.+)$`)), "|"))
}
