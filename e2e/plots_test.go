// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// plot is a picture of docs/performance.md, drawn from the series of its name.
type plot struct {
	name, title string
	x, y        string               // texts of the axes; without y, the plot has a row of dots for each series
	logY        bool                 // a step upwards is a factor
	label       func(float64) string // writes the numbers of the horizontal axis
}

func plain(f float64) string { return itoa(int(f)) }

var plots = []plot{
	{
		name: "peers", title: "Time to run a command that does nothing",
		x: "multiple of a call's p50: dot p50, end of the line p95",
	},
	{
		name: "flight", title: "Time of a call, with others in flight",
		x: "in flight", y: "multiple of one local start", logY: true, label: plain,
	},
	{
		name: "memory", title: "Memory of a session at rest",
		x: "sessions", y: "RssAnon of each, MiB", label: plain,
	},
	{
		name: "status", title: "Time of docker hostexec status",
		x: "sessions", y: "multiple of docker ps", label: plain,
	},
	{
		name: "output", title: "Throughput of a command's stdout",
		x: "output", y: "fraction of a local pipe", label: bytesize,
	},
}

// TestDocPlots compares the plots of docs/performance.md with the series that make bench has measured. With -write it
// draws them.
func TestDocPlots(t *testing.T) {
	all := readReports[series](t, "reports/bench.jsonl")
	page := string(readFile(t, "../docs/performance.md"))
	drawn := 0
	for _, p := range plots {
		lines := slices.Clone(all)
		lines = slices.DeleteFunc(lines, func(s series) bool { return s.Plot != p.name })
		drawn += len(lines)
		if len(lines) == 0 {
			t.Errorf("plot %s has no series: make bench", p.name)
			continue
		}
		image := "images/performance-" + p.name + ".svg"
		got, _ := os.ReadFile("../docs/" + image) // none: it differs
		switch want := p.draw(lines); {
		case *writeDocs:
			check(t, os.WriteFile("../docs/"+image, []byte(want), 0o644))
		case string(got) != want:
			t.Errorf("docs/%s is not drawn from e2e/reports/bench.jsonl: make plots", image)
		}
		if !strings.Contains(page, "]("+image+")") {
			t.Errorf("docs/performance.md does not show %s", image)
		}
	}
	want(t, "series that are drawn", drawn, len(all))
}
