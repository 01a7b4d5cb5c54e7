// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

// TestTrustWithPipe: a named pipe in place of a file of the trust directory does not block, and is replaced.
func TestTrustWithPipe(t *testing.T) {
	src := home(t, map[string]string{"app/.hostexec.yaml": "approval: {auto_approve: ['^ls$']}"})
	_, _, digest, err := ReadProposal(src)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(src.trustDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := exectest.WithFIFO(t, filepath.Join(src.trustDir(), digest), func() error { return Trust(src, digest) }); err != nil {
		t.Error(err)
	}
	if any, err := Distrust(src); !any || err != nil {
		t.Errorf("Distrust = %v, %v", any, err)
	}
}
