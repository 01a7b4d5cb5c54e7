// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Limits of a Diff. A person reads it before an answer, and the container can ask often.
const (
	maxDiffLines = 200
	maxDiffBytes = 16 << 10
)

// Diff shows how the files of now differ from those of before, as a unified diff of printable ASCII, tabs and newlines.
// A line with other characters is quoted as in Go. The diff is limited, and then says so.
func Diff(before, now *Set) string {
	var b strings.Builder
	now = now.Kept() // the time for a comparison grows faster than the files
	for _, name := range union(before, now) {
		b.WriteString(diffFile(name, before.file(name), now.file(name)))
	}
	return names.Excerpt(b.String(), maxDiffLines, maxDiffBytes, 0)
}

func union(sets ...*Set) (all []string) {
	for _, s := range sets {
		for _, f := range s.Files {
			all = append(all, f.Path)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// file returns the file with that path. One that the set does not have is absent.
func (s *Set) file(name string) File {
	if i := slices.IndexFunc(s.Files, func(f File) bool { return f.Path == name }); i >= 0 {
		return s.Files[i]
	}
	return File{Path: name, Absent: true}
}

func diffFile(name string, was, is File) string {
	switch {
	case was.SHA256 == is.SHA256:
		return ""
	case !was.Absent && was.Content == nil && was.Size > 0, !is.Absent && is.Content == nil && is.Size > 0:
		return fmt.Sprintf("%s has changed, and is too long to compare: %d bytes before, %d now\n", name, was.Size, is.Size)
	case bytes.IndexByte(was.Content, 0) >= 0, bytes.IndexByte(is.Content, 0) >= 0:
		return fmt.Sprintf("%s has changed, and is not a text: %d bytes before, %d now\n", name, was.Size, is.Size)
	}
	text := udiff.Unified(label("approved", name, was), label("now", name, is), string(was.Content), string(is.Content))
	if text == "" { // an empty file has come or gone
		return fmt.Sprintf("--- %s\n+++ %s\n", label("approved", name, was), label("now", name, is))
	}
	return text
}

func label(side, name string, f File) string {
	if f.Absent {
		return side + ": no " + name
	}
	return side + ": " + name
}
