// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// Check returns all errors and warnings about the configuration, in the order of the files' lines. They are about
// unreadable files, findings of the linter, failed tests of rules, and programs that other users could replace.
func Check(src Source) []policy.Problem {
	c := Load(src)
	all := slices.Clone(c.warnings)
	if c.Err != nil && len(c.problems) == 0 {
		all = append(all, policy.Problem{Text: c.Err.Error(), Fatal: true})
	}
	p := c.Policy(nil)
	p.Broken = ""
	found := p.Lint() // includes the failures of c.selfTest
	for _, q := range c.problems {
		if !slices.Contains(found, q) {
			all = append(all, q)
		}
	}
	all = append(all, found...)
	for _, name := range slices.Sorted(maps.Keys(c.rules)) {
		set := c.rules[name]
		if set.Exec == "" || set.Place.InContainer() { // a contained command uses the program of its image
			continue
		}
		if err := checkProgram(set.Exec, set.SHA256); err != nil {
			all = append(all, policy.Problem{Position: set.Position, Rule: name, Text: "exec: " + err.Error(), Fatal: true})
		}
	}
	policy.SortProblems(all)
	return all
}

// checkProgram checks that only the user and root can change the program at path.
func checkProgram(path, digest string) error {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w: install it, or correct exec", path, withoutPath(err))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, withoutPath(err))
	}
	fi, err := os.Stat(real)
	switch {
	case err != nil:
		return err
	case !fi.Mode().IsRegular() || fi.Mode().Perm()&0o111 == 0 && hasExecBits:
		return fmt.Errorf("%s is not a program", path)
	}
	for _, p := range []string{path, real} {
		for ; ; p = filepath.Dir(p) {
			fi, err := os.Lstat(p)
			if err != nil {
				return err
			}
			if fi.Mode()&os.ModeSymlink == 0 { // the mode of a link has no effect
				if err := checkOwner(p, fi); err != nil {
					return fmt.Errorf("%s: %w", p, err)
				}
			}
			if p == filepath.Dir(p) {
				break
			}
		}
	}
	if digest == "" {
		return nil
	}
	return checkDigest(real, digest)
}

func checkDigest(path, digest string) error {
	f, err := dir.OpenRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != digest {
		return errors.New("its sha256 differs from the configured one")
	}
	return nil
}
