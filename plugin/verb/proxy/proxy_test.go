// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestDisjoint checks that request directories are separate from the state and from programs, under
// all names of these.
//
// Attack 164.
func TestDisjoint(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	for _, d := range []string{"state/x", "box/sub", "apart", "boxes"} {
		if err := os.MkdirAll(at(d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"to-state": "state", "to-box": "box", "to-tool": "box/sub/tool", "box/out": "../apart/tool", "through-box": "box/out", "beside": "apart/tool",
	} {
		if err := os.Symlink(to, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		requests, tool string
		want           bool
	}{
		{"box", "apart/tool", true},
		{"box", "beside", true},
		{"boxes", "box/sub/tool", true},
		{"box", "box/sub/tool", false},
		{"box", "to-box/sub/tool", false},
		{"box", "to-tool", false},
		{"box", "through-box", false},
		{"to-box", "box/sub/tool", false},
		{"missing/box", "apart/tool", true},
		{"state/x", "apart/tool", false},
		{"state/missing", "apart/tool", false},
		{"to-state/x", "apart/tool", false},
		{"to-state/missing", "apart/tool", false},
		{".", "apart/missing", false},
	} {
		rec := state.Session{Commands: []state.Command{{Name: "tool", Path: at(tt.tool)}}, Proxy: &state.Proxy{Base: top, RelativePath: tt.requests, Flat: true}}
		if err := checkDirectory(at("state"), rec); (err == nil) != tt.want {
			t.Errorf("requests in %s, program %s: %v, want success: %v", tt.requests, tt.tool, err, tt.want)
		}
	}
}
