// SPDX-License-Identifier: Apache-2.0

package files

import (
	"maps"
	"os"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestFinish puts the status where the caller reads it.
func TestFinish(t *testing.T) {
	const status = `{"status":"exited","code":3,"signal":"","stdout":0,"stderr":0,"stdin":0,"reason":""}` + "\n"
	for _, tt := range []struct {
		name string
		req  request
		want map[string]string
	}{
		{"without a .cmd", request{}, map[string]string{"a.exit": "3\n"}},
		{"in a file", request{hasCmdFile: true}, map[string]string{"a.exit": "3\n", "a.status": status}},
		{"in .exit", request{hasCmdFile: true, statusInExit: true}, map[string]string{"a.exit": "3\n" + status}},
	} {
		p, at := openPlace(t)
		tt.req.id, tt.req.owner = "a", ownEntry
		newCall(p, tt.req).finish(wire.Exit{Outcome: wire.Exited, Code: 3})
		left, err := os.ReadDir(at)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, e := range left {
			got[e.Name()] = read(t, at+"/"+e.Name())
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
