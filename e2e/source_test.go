// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// source is a parsed Go file of this module.
type source struct {
	dir  string // of the package, as exec/policy
	name string // of the file
	test bool
	ast  *ast.File
}

var sourceSet = token.NewFileSet()

var parseSources = sync.OnceValues(func() (all []source, err error) {
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := parser.ParseFile(sourceSet, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		dir := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), ".."+string(filepath.Separator)))
		if dir == ".." {
			dir = "."
		}
		all = append(all, source{dir, d.Name(), strings.HasSuffix(path, "_test.go"), f})
		return err
	})
	return all, err
})

// sources returns all Go files of this module, for all systems.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parseSources()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sourceText is how a node is written, on one line.
func sourceText(n ast.Node) string {
	var b strings.Builder
	printer.Fprint(&b, sourceSet, n)
	return strings.Join(strings.Fields(b.String()), " ")
}

// sourcePlace is where a node stands.
func sourcePlace(n ast.Node) string { return sourceSet.Position(n.Pos()).String() }

// eachCall calls f with every call in n and with its name: os.Open, or f.Chmod for any value f.
func eachCall(n ast.Node, f func(call *ast.CallExpr, name string)) {
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			f(call, sourceText(call.Fun))
		}
		return true
	})
}
