// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	link       = regexp.MustCompile(`\]\(([^)\s#]*)(#[^)\s]*)?\)`)
	inHeading  = regexp.MustCompile(`\]\([^)]*\)`)
	notAnchor  = regexp.MustCompile(`[^\w\- ]`)
	fencedCode = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

// TestManual checks the pages of the manual: lines have at most 120 columns, and links lead to files and headings.
func TestManual(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	check(t, err)
	if len(pages) < 20 {
		t.Fatalf("%d pages are the manual, which cannot be all", len(pages))
	}
	for _, page := range append(pages, "../README.md", "../CHANGELOG.md") {
		text := string(readFile(t, page))
		n := 0
		for line := range strings.Lines(text) {
			if n++; utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 120 {
				t.Errorf("%s:%d: more than 120 columns", page, n)
			}
		}
		for _, m := range link.FindAllStringSubmatch(fencedCode.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to := page
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(page), m[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: a link leads to %s: %v", page, m[1], err)
			} else if m[2] != "" && !headings(string(readFile(t, to)))[m[2]] {
				t.Errorf("%s: %s has no heading %s", page, to, m[2])
			}
		}
	}
}

// headings returns the anchors of a page's headings.
func headings(text string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(fencedCode.ReplaceAllString(text, "")) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			title = notAnchor.ReplaceAllString(inHeading.ReplaceAllString(strings.TrimSpace(title), ""), "")
			all["#"+strings.ReplaceAll(strings.ToLower(title), " ", "-")] = true
		}
	}
	return all
}
