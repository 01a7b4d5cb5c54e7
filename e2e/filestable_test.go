// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestFilesTable holds the table of tables/files.md to the tests that there are, and to having
// a row for every promise.
func TestFilesTable(t *testing.T) { checkPromises(t, "files.md", "F000", 107) }

// checkPromises holds a table of e2e/tables to the tests that there are, and to having
// a row for each of the promises of source, of which there are count.
func checkPromises(t *testing.T, doc, source string, count int) {
	t.Helper()
	promised := regexp.MustCompile(`(?m)^\|[^|]+\| ` + source + `-(\d{3}) to (\d{3}) \| (.+) \|$`)
	text, err := os.ReadFile(filepath.Join("tables", doc))
	if err != nil {
		t.Fatal(err)
	}
	tests, next := testsByPackage(t), 1
	for _, row := range promised.FindAllStringSubmatch(string(text), -1) {
		first, _ := strconv.Atoi(row[1])
		last, _ := strconv.Atoi(row[2])
		if first != next || last < first {
			t.Errorf("a row has %d to %d, want it to begin with %d", first, last, next)
		}
		next = last + 1
		named := namedTest.FindAllStringSubmatch(row[3], -1)
		if len(named) == 0 {
			t.Errorf("%d to %d: no test", first, last)
		}
		for _, m := range named {
			if !tests[m[1]+"."+m[2]] {
				t.Errorf("%d to %d: there is no %s", first, last, strings.Join(m[1:], "."))
			}
		}
	}
	if next != count+1 {
		t.Errorf("the rows end with %d, want %d", next-1, count)
	}
}
