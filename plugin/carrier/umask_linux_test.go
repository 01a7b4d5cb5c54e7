// SPDX-License-Identifier: Apache-2.0

package carrier_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/carrier/http"
	"github.com/docker-hostexec/hostexec/plugin/carrier/relay"
)

// TestUmask puts the carrier's own files into a share for a person whose umask shuts out everybody
// else: a container's user reads all of them.
func TestUmask(t *testing.T) {
	share := t.TempDir()
	defer syscall.Umask(syscall.Umask(0o077))
	if err := carrier.Decide(share, carrier.ByFiles); err != nil {
		t.Fatal(err)
	}
	if _, err := relay.WriteNonce(share); err != nil {
		t.Fatal(err)
	}
	if err := http.WriteToken(share, "token"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{carrier.File, "nonce", http.ShareTokenFile} {
		if fi, err := os.Stat(filepath.Join(share, name)); err != nil || fi.Mode() != 0o644 {
			t.Errorf("%s: %v, %v, want mode 0644", name, fi, err)
		}
	}
}
