// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMirrorKept checks that a mirror whose refs cannot be read for a moment stays, because other sessions may read it.
// An incomplete mirror, as git leaves it that is killed, is made again.
func TestMirrorKept(t *testing.T) {
	f := newFixture(t, "sha1")
	w := f.clone("")
	mirrors, err := filepath.Glob(filepath.Join(f.call.Dir, "*"+mirrorSuffix))
	if err != nil || len(mirrors) != 1 {
		t.Fatal(mirrors, err)
	}
	mark := filepath.Join(mirrors[0], "mark")
	for _, tt := range []struct {
		name    string
		remove  string // from the mirror
		empty   string // of the mirror; empty: none
		output  int    // limit of bytes for git's output; 0: the default
		failure string // of the next call; empty: it succeeds
		kept    bool
	}{
		{name: "nothing happens", remove: "absent", kept: true},
		{name: "the refs cannot be read", remove: "absent", output: 1, failure: "origin: read the copy of the remote: " + errOutput.Error(), kept: true},
		{name: "no objects", remove: "objects"},
		{name: "no HEAD", remove: "HEAD"},
		{name: "an empty HEAD", remove: "absent", empty: "HEAD"},
		{name: "an empty configuration", remove: "absent", empty: "config"},
		{name: "no mirror", remove: "."},
	} {
		f.check(os.WriteFile(mark, nil, 0o600))
		f.check(os.RemoveAll(filepath.Join(mirrors[0], tt.remove)))
		if tt.empty != "" {
			f.check(os.Truncate(filepath.Join(mirrors[0], tt.empty), 0))
		}
		f.limit(func(c *Call) { c.maxOutput = tt.output })
		out, code := f.try(w, "git fetch")
		if (code != 0) != (tt.failure != "") || !strings.Contains(f.complained(), tt.failure) {
			t.Errorf("%s: exit code %d, %s%s, want %q", tt.name, code, out, f.complained(), tt.failure)
		}
		if _, err := os.Stat(mark); (err == nil) != tt.kept {
			t.Errorf("%s: a file in the mirror: %v, want kept: %v", tt.name, err, tt.kept)
		}
		if left, err := filepath.Glob(filepath.Join(f.call.Dir, "*"+removedSuffix)); err != nil || len(left) > 0 {
			t.Errorf("%s: left over: %q, %v", tt.name, left, err)
		}
	}
}
