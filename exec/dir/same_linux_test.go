// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"path/filepath"
	"testing"
)

func TestSame(t *testing.T) {
	at := t.TempDir()
	open := func(name string) int {
		d, err := openRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { CloseReceived(d) })
		return d
	}
	if a, b := open(at), open(at+"/."); !Same(a, b) {
		t.Error("a directory is not the same as itself")
	}
	if a, b := open(at), open(filepath.Dir(at)); Same(a, b) {
		t.Error("two directories are the same")
	}
	if Same(-1, -1) {
		t.Error("nothing is the same as nothing")
	}
}
