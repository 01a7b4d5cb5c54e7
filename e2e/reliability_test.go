// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var writeDocs = flag.Bool("write", false, "write the tables of docs/reliability.md and the plots of docs/performance.md anew")

// TestReliability compares the tables of docs/reliability.md with the reports of make chaos and make soak. With -write it
// writes them.
func TestReliability(t *testing.T) {
	const doc, mark = "../docs/reliability.md", "<!-- The rest is made of e2e/reports by make reliability. -->\n"
	text := string(readFile(t, doc))
	head, got, ok := strings.Cut(text, mark)
	if !ok {
		t.Fatalf("%s lacks the line %s", doc, mark)
	}
	want := chaosTable(readReports[chaosReport](t, "reports/chaos.jsonl")) + soakTable(readReports[soakReport](t, "reports/soak.jsonl"))
	switch {
	case *writeDocs:
		check(t, os.WriteFile(doc, []byte(head+mark+want), 0o644))
	case got != want:
		t.Errorf("%s is not made of e2e/reports: make reliability", doc)
	}
}

// readReports reads a file with a report in each line.
func readReports[T any](t *testing.T, file string) (all []T) {
	t.Helper()
	for line := range bytes.Lines(readFile(t, file)) {
		var r T
		check(t, json.Unmarshal(line, &r))
		all = append(all, r)
	}
	return all
}

func chaosTable(reports []chaosReport) string {
	var b strings.Builder
	var sum chaosReport
	sum.Faults, sum.Codes = map[string]int{}, map[string]int{}
	b.WriteString("\n## Faults under load\n\n| date | minutes | faults | calls | questions | latest caller |\n|---|---|---|---|---|---|\n")
	for _, r := range reports {
		n := 0
		for fault, times := range r.Faults {
			sum.Faults[fault] += times
			n += times
		}
		for code, times := range r.Codes {
			sum.Codes[code] += times
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %+.1f s |\n", r.Date, r.Seconds/60, n, r.Calls+r.Containers, r.Questions, r.Late)
	}
	b.WriteString("\n| fault | times |\n|---|---|\n")
	for _, fault := range slices.Sorted(maps.Keys(sum.Faults)) {
		fmt.Fprintf(&b, "| %s | %d |\n", fault, sum.Faults[fault])
	}
	return b.String()
}

func soakTable(reports []soakReport) string {
	var b strings.Builder
	b.WriteString("\n## A constant load\n\n| date | minutes | calls | failed | memory, MiB | descriptors | threads |\n|---|---|---|---|---|---|---|\n")
	for _, r := range reports {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %.1f, %.1f | %d, %d | %d, %d |\n", r.Date, r.Seconds/60, r.Calls, r.Failed,
			float64(r.KiB[0])/1024, float64(r.KiB[1])/1024, r.FDs[0], r.FDs[1], r.Threads[0], r.Threads[1])
	}
	return b.String()
}
