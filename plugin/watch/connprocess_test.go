// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestDecodeProcess checks that the launcher's message keeps every byte of an agent's command line and environment.
func TestDecodeProcess(t *testing.T) {
	for _, p := range []Process{
		{},
		{Path: "/bin/agent", Args: []string{"agent"}, Env: []string{"A=b"}, Dir: "/w"},
		{
			Path: "/bin/\xff", Args: []string{"", "a\x00b", "\xc3\x28\xf0", "\ufffd", "two\nlines", `"\`, ""},
			Env: []string{"", "A=\xfe\x00", "B="}, Dir: "/\x80",
		},
		{Args: []string{""}, Env: []string{""}},
	} {
		b, err := json.Marshal(encodeProcess(p))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeProcess(string(b)); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("DecodeProcess(%s) = %q, %v, want %q", b, got, err, p)
		}
	}
	if p, err := DecodeProcess(`{"Path": "?"}`); err == nil {
		t.Errorf("DecodeProcess of no base64 = %q, want an error", p)
	}
}
