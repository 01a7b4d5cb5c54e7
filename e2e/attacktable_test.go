// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	numbered  = 160 // attacks of the catalogue, each of which has a row
	minReason = 20  // letters of a reason why there is no test
)

var (
	attackRow = regexp.MustCompile(`^\| ([0-9]+) \| (.+) \| (.+) \| (.+) \|$`)
	namedTest = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz)[A-Za-z0-9_]+)`")
)

// attack is a row of attacks.md.
type attack struct {
	number int
	tests  []string // as exec/policy.TestMatch
	reason string   // why there is none
}

// attacks reads attacks.md.
func attacks(t *testing.T) (all []attack) {
	t.Helper()
	text, err := os.ReadFile("attacks.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		row := attackRow.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if row == nil {
			if strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "| # |") && !strings.HasPrefix(line, "|---|") {
				t.Errorf("not a row: %s", line)
			}
			continue
		}
		a := attack{}
		a.number, _ = strconv.Atoi(row[1])
		a.reason, _ = strings.CutPrefix(row[4], "none: ")
		for _, m := range namedTest.FindAllStringSubmatch(row[4], -1) {
			a.tests = append(a.tests, m[1]+"."+m[2])
		}
		if len(a.tests) == 0 && (a.reason == row[4] || len(a.reason) < minReason) {
			t.Errorf("attack %d: neither a test nor a reason", a.number)
		}
		all = append(all, a)
	}
	return all
}

// TestAttackTable compares attacks.md with the tests: an attack that no test runs any more is
// not one that is survived.
func TestAttackTable(t *testing.T) {
	all := attacks(t)
	for i, a := range all {
		if a.number != i+1 {
			t.Fatalf("row %d has the number %d: each number has one row, in order", i+1, a.number)
		}
	}
	if len(all) < numbered {
		t.Errorf("%d rows, want %d at least", len(all), numbered)
	}
	x := testIndex(t)
	for _, a := range all {
		for _, name := range a.tests {
			if why := x.lacks(name); why != "" {
				t.Errorf("attack %d: %s %s", a.number, name, why)
				continue
			}
			if !slices.Contains(x[name].attacks, a.number) {
				t.Errorf("attack %d names %s, which has no comment that says so: // Attack %d.", a.number, name, a.number)
			}
		}
	}
	for name, f := range x {
		for _, n := range f.attacks {
			if n < 1 || n > len(all) || !slices.Contains(all[n-1].tests, name) {
				t.Errorf("%s says that it is attack %d, whose row does not name it", name, n)
			}
		}
	}
}

// TestAttackTableSees checks that the test index contains known tests.
func TestAttackTableSees(t *testing.T) {
	x := testIndex(t)
	for name, want := range map[string]string{
		"e2e.TestNothingOfThatName": "does not exist", "exec/audit.TestMain": "contains no assertion", "e2e.TestBench": "does not run in make check",
		"exec/policy.TestMatch": "", "e2e.TestIntegrationAttackOperand": "", "exec/policy.FuzzMatch": "",
	} {
		if got := x.lacks(name); got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
}
