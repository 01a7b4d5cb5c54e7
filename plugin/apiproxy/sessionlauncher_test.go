// SPDX-License-Identifier: Apache-2.0

package apiproxy

import "testing"

// TestNotes: a text of a request, such as the path of a mount, sends a terminal nothing.
//
// Attack 257.
func TestNotes(t *testing.T) {
	var l SessionLauncher
	l.note("warning: %s", "the mount of /x\x1b[2J\nand\r\u202e")
	if got, want := l.Notes(), `warning: the mount of /x\x1b[2J`+"\n"+`and\r\u202e`; len(got) != 1 || got[0] != want {
		t.Errorf("Notes = %q, want %q", got, want)
	}
}
