// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"

	"github.com/docker-hostexec/hostexec/exec/exectest"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestAddressOfPipe: a named pipe in place of the page's address is an error at once.
func TestAddressOfPipe(t *testing.T) {
	store, err := state.OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := exectest.WithFIFO(t, addressFile(store), func() error { _, err := load(store); return err }); err == nil {
		t.Error("the pipe is read")
	}
}
