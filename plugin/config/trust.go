// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// ErrNoProposal means that the workspace has no proposal.
var ErrNoProposal = errors.New("there is no .hostexec.yaml")

// ReadProposal returns the workspace's proposal and its digest. The digest covers path and content, so that
// moving or editing the file ends the trust.
func ReadProposal(src Source) (path string, content []byte, digest string, err error) {
	path = src.ProposalFile()
	content, _, err = readForeign(path)
	switch {
	case path == "" || err == nil && content == nil:
		return path, nil, "", ErrNoProposal
	case err != nil:
		return path, nil, "", fmt.Errorf("read %s: %w", path, err)
	}
	return path, content, proposalDigest(path, content), nil
}

func proposalDigest(path string, content []byte) string {
	sum := sha256.Sum256(append([]byte(path+"\n"), content...))
	return hex.EncodeToString(sum[:])
}

func (s Source) trustDir() string { return filepath.Join(s.Store, "trust") }

// Trust makes the workspace's proposal effective as long as its digest stays the same. It refuses a
// proposal that cannot be parsed. It removes the trust in earlier versions of the file, because a
// container could restore them.
func Trust(src Source, digest string) error {
	path, content, now, err := ReadProposal(src)
	if err != nil {
		return err
	}
	if now != digest {
		return fmt.Errorf("%s has changed meanwhile: read it again", path)
	}
	if err := CheckAcceptable(src, path, content); err != nil {
		return err
	}
	if err := os.MkdirAll(src.trustDir(), 0o700); err != nil {
		return fmt.Errorf("trust %s: %w", path, err)
	}
	if _, err := Distrust(src); err != nil {
		return fmt.Errorf("trust %s: %w", path, err)
	}
	if err := dir.Replace(filepath.Join(src.trustDir(), digest), []byte(path+"\n"), 0o600); err != nil {
		return fmt.Errorf("trust %s: %w", path, err)
	}
	return nil
}

// CheckAcceptable returns an error if a proposal cannot be trusted: because it cannot be parsed completely, or would
// change values of the host, which breaks the configuration.
func CheckAcceptable(src Source, path string, content []byte) error {
	d := parse(path, content, workspace)
	for _, p := range d.warnings {
		if p.Fatal {
			return errors.New(p.String())
		}
	}
	c := Load(Source{Store: src.Store, Project: src.Project, File: src.File})
	c.problems = nil // drops the problems of the host's own files
	if c.add(d, src); len(c.problems) == 0 {
		c.selfTest()
	}
	for _, p := range c.problems {
		if p.Position == path || strings.HasPrefix(p.Position, path+":") {
			return errors.New(p.String())
		}
	}
	return nil
}

// Review returns the errors and warnings about a proposal, before it is trusted.
func Review(path string, content []byte) []policy.Problem {
	c := &Config{rules: map[string]policy.Ruleset{}}
	c.add(parse(path, content, workspace), Source{})
	all := append(c.problems, c.warnings...)
	all = append(all, c.Policy(nil).Lint()...)
	policy.SortProblems(all)
	return all
}

// Distrust removes all trust in the workspace's file, for every content. It reports whether there was any.
func Distrust(src Source) (any bool, err error) {
	entries, err := os.ReadDir(src.trustDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for _, e := range entries {
		file := filepath.Join(src.trustDir(), e.Name())
		text, err := dir.ReadPlain(file)
		if err != nil || strings.TrimSuffix(string(text), "\n") != src.ProposalFile() {
			continue
		}
		if err := os.Remove(file); err != nil {
			return any, err
		}
		any = true
	}
	return any, nil
}

// propose adds the workspace's proposal if it is trusted. Until then, Stale watches the trust directory
// only, so that a container cannot cause reloads by rewriting the file.
func (c *Config) propose(src Source) {
	path := src.ProposalFile()
	if path == "" {
		return
	}
	trustDir := stamp{path: src.trustDir()}
	if trustDir.info, _ = os.Stat(trustDir.path); trustDir.info != nil {
		trustDir.fresh = recentlyModified(trustDir.info)
	}
	c.stamps = append(c.stamps, trustDir)
	content, st, err := readForeign(path)
	st.foreign = true
	if st.unread {
		c.stamps = append(c.stamps, st)
	}
	if err != nil { // a container can cause this error at any time, so it must not deny all requests
		c.skip(path, fmt.Sprintf("%s: %v: not used", path, err), err.Error()+": not used")
		return
	}
	if content == nil {
		return
	}
	if _, err := os.Lstat(filepath.Join(src.trustDir(), proposalDigest(path, content))); err != nil {
		const untrusted = "not trusted, and not used: docker hostexec trust shows it"
		c.skip(path, path+" is "+untrusted, untrusted)
		return
	}
	c.stamps = append(c.stamps, st)
	c.add(parse(path, content, workspace), src)
}

// skip warns that the file at path is not used: with text at the start of a session, with problem in Check.
func (c *Config) skip(path, text, problem string) {
	c.Warnings = append(c.Warnings, text)
	c.warnings = append(c.warnings, policy.Problem{Position: path, Text: problem})
}
