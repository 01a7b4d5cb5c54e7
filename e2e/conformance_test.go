// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestIntegrationConformance runs each behaviour over each carrier for which the table in
// e2e/tables/carriers.md has yes. For no, the table has a reason.
//
// Attack 46.
func TestIntegrationConformance(t *testing.T) {
	t.Parallel() // with others that have a host of their own, and wait more than they work
	for carrier := range carriers {
		t.Run(carrier, func(t *testing.T) {
			t.Parallel()
			conforms(t, newHost(t, false), carrier)
		})
	}
}

// conforms runs the behaviours of a carrier in a container of the user.
func conforms(t *testing.T, h *Host, carrier string) {
	t.Helper()
	table := conformanceTable(t)
	h.mkdir(t, filepath.Join(h.Work, "sub"))
	c := carriers[carrier](t, h, append(proxies(t), "--proxy", "uname=ask", "--proxy", "banned=deny")...)
	c.Carrier = carrier
	want(t, "a first call", c.Exec(t, "hsh", "-c", "exit 0").String(), Result{}.String())
	for _, b := range behaviours {
		if table[b.name][column(carrier)] == "yes" {
			t.Run(b.name, func(t *testing.T) { b.check(t, c) })
		}
	}
}

// carriers start a container whose calls come by each of them.
var carriers = map[string]func(t *testing.T, h *Host, flags ...string) *Container{
	"socket": byCarrier("socket"),
	"relay":  byCarrier("relay"),
	"files":  byCarrier("files"),
	"http":   overHTTP,
	"attach": func(t *testing.T, h *Host, flags ...string) *Container {
		c := h.startUnknown(t, "--network", "none")
		r := h.Docker(t, append(append([]string{"hostexec", "attach", "--detach"}, flags...), c.ID)...)
		c.Session = strings.TrimSpace(r.Out)
		want(t, "attach", r.Code, 0)
		return c
	},
}

// column returns the column of the table for one of carriers. attach uses a relay, so it has to do what relay does.
func column(carrier string) string {
	if carrier == "attach" {
		return "relay"
	}
	return carrier
}

func byCarrier(name string) func(*testing.T, *Host, ...string) *Container {
	return func(t *testing.T, h *Host, flags ...string) *Container {
		return h.Holding(t, append(flags, "--network", "none", "--carrier", name)...)
	}
}

// overHTTP has programs find clients by the names of commands, which make a request of each call.
func overHTTP(t *testing.T, h *Host, flags ...string) *Container {
	t.Helper()
	dir := filepath.Join(h.Work, "http")
	h.mkdir(t, dir)
	names := []string{"hostexec", "hp", "hsh", "hbash"}
	for _, name := range names {
		h.Write(t, dir, name, "#!/bin/bash\nname=${0##*/}; [ $name = hostexec ] || set -- $name \"$@\"; exec /probe http \"$@\"\n", 0o755)
	}
	c := h.Holding(t, append(flags, "--http")...)
	c.Path = "/w/http:" + imagePath
	return c
}

// shims is c with the commands that it has from the session.
func (c *Container) shims() *Container {
	with := *c
	with.Path = ""
	return &with
}

// conformanceTable reads from the documentation which carrier supports which behaviour, and fails
// if its carriers or behaviours differ from those of this file.
func conformanceTable(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("tables/carriers.md")
	check(t, err)
	exceptionsAreDocumented(t, string(text))
	table := map[string]map[string]string{}
	var columns []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `")
		}
		switch {
		case !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---"):
		case columns == nil:
			columns = cells[1:]
		default:
			row := map[string]string{}
			for i, cell := range cells[1:] {
				if row[columns[i]] = cell; cell != "yes" && !strings.HasPrefix(cell, "no: ") {
					t.Errorf("tables/carriers.md: %s, %s: %q is neither yes nor no: and a reason", cells[0], columns[i], cell)
				}
			}
			table[cells[0]] = row
		}
	}
	return checkedTable(t, columns, table)
}

// exceptionsAreDocumented fails for a row with a no that docs/carriers.md lacks, and for a row there that differs.
func exceptionsAreDocumented(t *testing.T, table string) {
	t.Helper()
	_, doc, _ := strings.Cut(string(readFile(t, "../docs/carriers.md")), "\n## What each of them does\n")
	doc, _, _ = strings.Cut(doc, "\n## ")
	rows := 0
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "| ") && strings.Contains(line, "| no: ") {
			rows++
			if !strings.Contains(doc, line) {
				t.Errorf("docs/carriers.md lacks the row %s", line)
			}
		}
	}
	want(t, "rows of docs/carriers.md", strings.Count(doc, "\n| "), rows+1) // with the head
}

func checkedTable(t *testing.T, columns []string, table map[string]map[string]string) map[string]map[string]string {
	t.Helper()
	have := map[string]bool{}
	for name := range carriers {
		if have[column(name)] = true; !slices.Contains(columns, column(name)) {
			t.Errorf("tables/carriers.md says nothing of what %s does", name)
		}
	}
	for _, b := range behaviours {
		if table[b.name] == nil {
			t.Errorf("tables/carriers.md says nothing of %q", b.name)
		}
	}
	want(t, "behaviours in tables/carriers.md", len(table), len(behaviours))
	want(t, "carriers in tables/carriers.md", len(columns), len(have))
	return table
}
