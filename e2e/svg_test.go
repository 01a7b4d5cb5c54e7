// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"cmp"
	"fmt"
	"html"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Plots as SVG. Equal series give equal bytes.

const (
	plotWidth, plotHeight = 760, 340
	rowHeight             = 28
)

// colours are distinct for colour-blind people, too (Okabe and Ito).
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7"}

const textColour, gridColour = "#333333", "#dddddd"

// axis maps numbers to pixels.
type axis struct {
	lo, hi   float64 // numbers
	from, to float64 // pixels
	log      bool
	step     float64 // between ticks, of numbers that are not logarithms
}

func (a axis) at(v float64) float64 {
	lo, hi := a.lo, a.hi
	if a.log {
		v, lo, hi = math.Log10(v), math.Log10(lo), math.Log10(hi)
	}
	return a.from + (v-lo)/(hi-lo)*(a.to-a.from)
}

// decades returns an axis whose ends are powers of ten.
func decades(numbers []float64, from, to float64) axis {
	lo, hi := math.Floor(math.Log10(slices.Min(numbers))), math.Ceil(math.Log10(slices.Max(numbers)))
	return axis{math.Pow(10, lo), math.Pow(10, max(hi, lo+1)), from, to, true, 0}
}

// fromZero returns an axis that begins at 0 and ends at a tick.
func fromZero(numbers []float64, from, to float64) axis {
	top := slices.Max(numbers)
	step := math.Pow(10, math.Floor(math.Log10(top)))
	for _, part := range []float64{0.2, 0.5, 1, 2} {
		if n := math.Ceil(top / (step * part)); n <= 6 {
			return axis{0, n * step * part, from, to, false, step * part}
		}
	}
	return axis{0, 10 * step, from, to, false, 2 * step}
}

// ticks returns the numbers that are written at an axis.
func (a axis) ticks() (all []float64) {
	for v := a.lo; v <= a.hi*1.001; {
		all = append(all, v)
		if v += a.step; a.log {
			v = all[len(all)-1] * 10
		}
	}
	return all
}

// number writes three digits, or all of a whole number.
func number(f float64) string {
	if f >= 1000 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

// drawing is an SVG that is being written.
type drawing struct{ strings.Builder }

func (d *drawing) line(x1, y1, x2, y2 float64, colour string, width int) {
	const form = `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%d"/>` + "\n"
	fmt.Fprintf(d, form, x1, y1, x2, y2, colour, width)
}

func (d *drawing) dot(x, y float64, colour string) {
	fmt.Fprintf(d, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", x, y, colour)
}

// text writes s; anchor is the part of it that is at x: start, middle or end.
func (d *drawing) text(x, y float64, anchor, more, s string) {
	const form = `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>` + "\n"
	fmt.Fprintf(d, form, x, y, anchor, more, html.EscapeString(s))
}

// draw draws a plot. Its numbers are also in its description, for screen readers.
func (p plot) draw(lines []series) string {
	height := float64(plotHeight)
	if p.y == "" {
		height = float64(len(lines)*rowHeight + 110)
	}
	d := &drawing{}
	const form = `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %d %.0f" ` +
		`font-family="sans-serif" font-size="13" fill="%s">` + "\n"
	fmt.Fprintf(d, form, plotWidth, height, textColour)
	fmt.Fprintf(d, "<title>%s</title>\n<desc>%s</desc>\n", html.EscapeString(p.title),
		html.EscapeString(description(lines)))
	fmt.Fprintf(d, "<rect width=\"%d\" height=\"%.0f\" rx=\"6\" fill=\"#ffffff\"/>\n", plotWidth, height)
	d.text(20, 28, "start", ` font-size="16" font-weight="bold"`, p.title)
	d.text(20, height-12, "start", ` font-size="11" fill="#777777"`, lines[0].Machine)
	if p.y == "" {
		p.dots(d, lines, height)
	} else {
		p.lines(d, lines, height)
	}
	d.WriteString("</svg>\n")
	return d.String()
}

func description(lines []series) string {
	var all []string
	for _, s := range lines {
		var points []string
		for i := range s.X {
			points = append(points, number(s.X[i])+", "+number(s.Y[i]))
		}
		all = append(all, s.Name+": "+strings.Join(points, "; "))
	}
	return strings.Join(all, ". ") + "."
}

// dots draws a row for each series, the shortest time first.
func (p plot) dots(d *drawing, lines []series, height float64) {
	lines = slices.SortedFunc(slices.Values(lines), func(a, b series) int { return cmp.Compare(a.X[0], b.X[0]) })
	var numbers []float64
	for _, s := range lines {
		numbers = append(numbers, s.X[0], s.Y[0])
	}
	x, bottom := decades(numbers, 250, plotWidth-80), height-70
	for _, v := range x.ticks() {
		d.line(x.at(v), 44, x.at(v), bottom, gridColour, 1)
		d.text(x.at(v), bottom+18, "middle", "", number(v))
	}
	d.text((x.from+x.to)/2, bottom+38, "middle", "", p.x)
	d.text(plotWidth-24, 36, "end", "", "p50")
	for i, s := range lines {
		y := 44 + float64(i)*rowHeight + rowHeight/2
		colour := colours[0]
		if s.Name == "a call" {
			colour = colours[1]
		}
		d.text(x.from-12, y+4, "end", "", s.Name)
		d.line(x.at(s.X[0]), y, x.at(s.Y[0]), y, colour, 2)
		d.dot(x.at(s.X[0]), y, colour)
		d.text(plotWidth-24, y+4, "end", "", number(s.X[0]))
	}
}

// lines draws a line for each series, with its name at its end.
func (p plot) lines(d *drawing, lines []series, height float64) {
	var xs, ys []float64
	for _, s := range lines {
		xs, ys = append(xs, s.X...), append(ys, s.Y...)
	}
	x := axis{slices.Min(xs), slices.Max(xs), 80, plotWidth - 210, true, 0}
	y := fromZero(ys, height-80, 60)
	if p.logY {
		y = decades(ys, height-80, 60)
	}
	for _, v := range y.ticks() {
		d.line(x.from, y.at(v), x.to, y.at(v), gridColour, 1)
		d.text(x.from-8, y.at(v)+4, "end", "", number(v))
	}
	for _, v := range lines[0].X {
		d.text(x.at(v), y.from+20, "middle", "", p.label(v))
	}
	d.text((x.from+x.to)/2, y.from+40, "middle", "", p.x)
	d.text(x.from-8, 50, "start", ` font-size="12" fill="#777777"`, p.y)
	ends := map[string]float64{}
	for i, s := range lines {
		colour := colours[i%len(colours)]
		for j := range s.X {
			if j > 0 {
				d.line(x.at(s.X[j-1]), y.at(s.Y[j-1]), x.at(s.X[j]), y.at(s.Y[j]), colour, 2)
			}
			d.dot(x.at(s.X[j]), y.at(s.Y[j]), colour)
		}
		ends[s.Name] = y.at(s.Y[len(s.Y)-1])
	}
	heights := nameHeights(ends)
	for i, s := range lines {
		d.text(x.to+12, heights[s.Name]+4, "start", fmt.Sprintf(" fill=%q", colours[i%len(colours)]), s.Name)
	}
}

// nameHeights returns the heights of the names of lines that end at these heights. No name covers another one: the
// highest line has its name at its end, and the names below give way.
func nameHeights(ends map[string]float64) map[string]float64 {
	names := slices.SortedFunc(maps.Keys(ends), func(a, b string) int {
		return cmp.Or(cmp.Compare(ends[a], ends[b]), cmp.Compare(a, b))
	})
	heights, next := map[string]float64{}, math.Inf(-1)
	for _, n := range names {
		heights[n] = max(ends[n], next)
		next = heights[n] + 16
	}
	return heights
}
