// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

func TestStale(t *testing.T) {
	src := home(t, map[string]string{"state/config.yaml": "version: 1"})
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(src.GlobalFile(), old, old); err != nil {
		t.Fatal(err)
	}
	c := Load(src)
	if c.Stale() {
		t.Error("stale although nothing has changed")
	}
	if again := Load(src); again.Digest != c.Digest {
		t.Error("the same files have two digests")
	}
	for _, change := range []func(){
		func() { write(t, src.GlobalFile(), "version: 1 ") },
		func() { write(t, src.ProjectFile(), "") },
		func() { os.Remove(src.GlobalFile()) },
	} {
		before := Load(src)
		change()
		if !before.Stale() {
			t.Error("not stale although a file has changed")
		}
	}
	write(t, src.GlobalFile(), "version: 1")
	if !Load(src).Stale() {
		t.Error("a file that was written just now is not stale")
	}
}

// A configuration that could not be read for lack of descriptors is read again.
func TestStaleWithoutDescriptors(t *testing.T) {
	src := home(t, nil) // to open a file that does not exist takes a descriptor, too
	var c *Config
	exectest.WithoutDescriptors(t, func() { c = Load(src) })
	if c.Err == nil || !c.Stale() {
		t.Errorf("error %v, stale %v: want an error, and that it is read again", c.Err, c.Stale())
	}
}

// TestStaleProposal checks that a container that rewrites its proposal does not make the configuration
// stale. Trusting the proposal does. The first change after that does too, and it ends the trust.
func TestStaleProposal(t *testing.T) {
	src := home(t, map[string]string{"state/config.yaml": "version: 1"})
	if err := os.Mkdir(src.trustDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	age := func(paths ...string) {
		t.Helper()
		old := time.Now().Add(-time.Hour)
		for _, p := range paths {
			if err := os.Chtimes(p, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	const proposal = "version: 1\ncommands: {}\n"
	write(t, src.ProposalFile(), proposal)
	age(src.GlobalFile(), src.trustDir())
	c := Load(src)
	for _, text := range []string{"x", proposal, "y: [", proposal} {
		if write(t, src.ProposalFile(), text); c.Stale() {
			t.Fatal("stale although the changed file is not trusted")
		}
	}
	_, _, digest, err := ReadProposal(src)
	if err == nil {
		err = Trust(src, digest)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !c.Stale() {
		t.Error("not stale although the proposal is trusted now")
	}
	age(src.ProposalFile(), src.trustDir())
	if c = Load(src); c.Stale() || len(c.Warnings) != 0 {
		t.Errorf("trusted: stale %t, warnings %q", c.Stale(), c.Warnings)
	}
	if write(t, src.ProposalFile(), "z"); !c.Stale() {
		t.Error("not stale although the trusted file has changed")
	}
	if c = Load(src); c.Stale() || len(c.Warnings) != 1 {
		t.Errorf("changed: stale %t, warnings %q", c.Stale(), c.Warnings)
	}
}
