// SPDX-License-Identifier: Apache-2.0

package names

import (
	"path"
	"strings"
)

// Within reports whether the path p is dir or below it. It compares whole elements and follows no link.
func Within(p, dir string) bool {
	_, ok := CutDir(path.Clean(p), path.Clean(dir))
	return ok
}

// CutDir returns the rest of the clean path p below dir, or "." for dir itself.
func CutDir(p, dir string) (rest string, ok bool) {
	if p == dir {
		return ".", true
	}
	return strings.CutPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
