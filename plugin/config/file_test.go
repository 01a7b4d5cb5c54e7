// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinkToNothing checks that a dangling link is an error, not an empty configuration.
func TestLinkToNothing(t *testing.T) {
	src := home(t, nil)
	if err := os.MkdirAll(src.Store, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", src.GlobalFile()); err != nil {
		t.Fatal(err)
	}
	c := Load(src)
	if c.Err == nil || !strings.Contains(c.Err.Error(), "a dangling link") || c.Stale() {
		t.Errorf("Err = %v, stale %v", c.Err, c.Stale())
	}
	write(t, filepath.Join(src.Store, "nowhere"), "version: 1\n")
	if !c.Stale() || Load(src).Err != nil {
		t.Error("the configuration is not stale although the link has a target now")
	}
}
