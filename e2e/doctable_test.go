// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// checkTable compares the table of a section of e2e/tables/doc, which begins with the word
// head, with the tests that it names. It returns how many rows there are.
func checkTable(t *testing.T, doc, section, head string) (rows int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("tables", doc))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("tables/%s has no section %s", doc, section)
	}
	x := testIndex(t)
	for line := range strings.Lines(table) {
		row := regexp.MustCompile(`^\| (.+) \| (.+) \|$`).FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if row == nil || row[1] == head {
			continue
		}
		rows++
		named := namedTest.FindAllStringSubmatch(row[2], -1)
		for _, m := range named {
			if why := x.lacks(m[1] + "." + m[2]); why != "" {
				t.Errorf("%s: %s.%s %s", row[1], m[1], m[2], why)
			}
		}
		if len(named) == 0 && len(row[2]) < minReason {
			t.Errorf("%s: neither a test nor a reason", row[1])
		}
	}
	return rows
}

// testsByPackage returns the tests of each package, as exec/policy.TestMatch.
func testsByPackage(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	for name := range testIndex(t) {
		tests[name] = true
	}
	return tests
}
