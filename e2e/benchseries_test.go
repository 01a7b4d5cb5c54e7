// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
)

// series is a line of a plot: X are the numbers of the horizontal axis, and Y those of the vertical one. In the plot of
// peers, a series is one peer, X is its p50, and Y its p95.
type series struct {
	Machine string    `json:"machine"`
	Plot    string    `json:"plot"`
	Name    string    `json:"name"`
	X       []float64 `json:"x"`
	Y       []float64 `json:"y"`
}

// point adds a point to a series of a plot. Four digits are more than a measurement has.
func (b *bench) point(plot, name string, x, y float64) {
	short := func(f float64) float64 {
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', 4, 64), 64) // it was a number before
		return f
	}
	i := slices.IndexFunc(b.series, func(s series) bool { return s.Plot == plot && s.Name == name })
	if i < 0 {
		i = len(b.series)
		b.series = append(b.series, series{Plot: plot, Name: name})
	}
	s := &b.series[i]
	s.X, s.Y = append(s.X, short(x)), append(s.Y, short(y))
}

// TestBenchSeries measures what docs/performance.md draws: calls against other ways to run a command, and how calls,
// sessions and output grow. It writes the series to HOSTEXEC_REPORTS.
func TestBenchSeries(t *testing.T) {
	b := &bench{host: newHost(t, false)}
	b.outputs(t) // before there are many containers, as in TestBench
	b.peers(t)
	b.crowds(t)
	b.manySessions(t)
	fmt.Println(b.table(t))
	if file := os.Getenv("HOSTEXEC_REPORTS"); file != "" && !t.Failed() {
		b.write(t, file)
	}
}

// write replaces a file by the series, one in each line.
func (b *bench) write(t *testing.T, file string) {
	t.Helper()
	var all bytes.Buffer
	machine := b.machine(t)
	for _, s := range b.series {
		s.Machine = machine
		check(t, json.NewEncoder(&all).Encode(s))
	}
	check(t, os.WriteFile(file, all.Bytes(), 0o644))
}
