// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	tableRow  = regexp.MustCompile(`^\| (.+) \| (.+) \|$`)
	namedTest = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz)[A-Za-z0-9_]+)`")
	testFunc  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(`)
)

// TestAttackTable holds the table of docs/security.md to the tests that there are: an attack
// that no test runs any more is not one that is survived.
func TestAttackTable(t *testing.T) {
	if rows := holdTable(t, "security.md", "Attacks that are tests", "attack"); rows < 50 {
		t.Errorf("%d attacks, want 50 at least", rows)
	}
}

// holdTable holds the table of a section of the documentation, which begins with the word
// head, to the tests that it names. It returns how many rows there are.
func holdTable(t *testing.T, doc, section, head string) (rows int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", doc))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("docs/%s has no section %s", doc, section)
	}
	tests := testsByRoom(t)
	for line := range strings.Lines(table) {
		row := tableRow.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if row == nil || row[1] == head {
			continue
		}
		rows++
		named := namedTest.FindAllStringSubmatch(row[2], -1)
		for _, m := range named {
			if !tests[m[1]+"."+m[2]] {
				t.Errorf("%s: there is no %s.%s", row[1], m[1], m[2])
			}
		}
		if len(named) == 0 && len(row[2]) < 20 {
			t.Errorf("%s: neither a test nor a reason", row[1])
		}
	}
	return rows
}

// testsByRoom returns the tests of each package, as exec/policy.TestMatch.
func testsByRoom(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		room := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), ".."+string(filepath.Separator)))
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			tests[room+"."+m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
