// SPDX-License-Identifier: Apache-2.0

// Package config reads what the person at the host has written down: what containers may
// request, who is asked and how, and what is recorded.
//
//	config.yaml                  of all projects
//	projects/<name>.yaml         of one, over it
//	<workspace>/.hostexec.yaml   a proposal, that counts for nothing until it is trusted
//	        |  the bytes that are hashed are the bytes that are parsed
//	        v
//	     Config -> policy.Policy, and a section for each room
//
// Its one law: a file that is not understood whole allows nothing. An unknown key, a
// duplicate one, a rule that fails its own tests: each breaks the configuration, and a
// broken configuration denies every request. Only what is said of an agent, which allows
// nothing, breaks nothing either. It decides nothing itself.
package config

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// Source says where to look.
type Source struct {
	Store     string // the state directory
	Project   string // the directory where the session was started, absolute; empty: none
	Workspace string // the directory that the container works in, absolute; empty: none
	File      string // takes the place of config.yaml; empty: none
}

// Global returns the path of the file that holds for all projects.
func (s Source) Global() string {
	if s.File != "" {
		return s.File
	}
	return filepath.Join(s.Store, "config.yaml")
}

// OfProject returns the path of the project's file, or "" if the directory has no name.
func (s Source) OfProject() string {
	name := ProjectName(s.Project)
	if name == "" {
		return ""
	}
	return filepath.Join(s.Store, "projects", name+".yaml")
}

// Proposal returns the path of the workspace's file, or "" if there is no workspace.
func (s Source) Proposal() string {
	if s.Workspace == "" {
		return ""
	}
	return filepath.Join(s.Workspace, ".hostexec.yaml")
}

// ProjectName is what a directory's project is called: its base name, with a - for each
// character but letters, digits and . _ + -, without any of those before the first letter
// or digit, cut to 64. Directories of the same base name share it; a file that says
// project: /its/directory is for that one alone.
func ProjectName(dir string) string {
	if dir == "" {
		return ""
	}
	name := strings.TrimLeft(strings.Map(named, filepath.Base(dir)), "._+-")
	return name[:min(len(name), 64)]
}

// named is r, or what stands for it in the name of a project.
func named(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("._+-", r):
		return r
	}
	return '-'
}

// Config is all that is configured, for one project. It is not changed after Load.
type Config struct {
	Approval Approval
	Audit    Audit
	Notify   Notify
	Jobs     Jobs
	Limits   Limits
	Proxies  []Proxy  // for run in this project
	Agent    Agent    // that docker hostexec agent runs
	Warnings []string // what was passed over
	Err      error    // why everything is denied
	Digest   string   // of all that was read, in hex

	rules        map[string]policy.Ruleset
	defaults     policy.Settings
	auto, manual []policy.Pattern
	problems     []policy.Problem
	warnings     []policy.Problem
	stamps       []stamp
	hash         []byte
}

// Approval is how a person is asked.
type Approval struct {
	Timeout time.Duration // 0: the queue's own
	Always  bool          // wait for an answer even when nobody seems to be there to give one
	Durable bool          // a request outlives its caller for a while
}

// Audit is what is written down, and where.
type Audit struct {
	Sync         string // always, approved, or empty: as the system does
	PerContainer bool
	Redact       []*regexp.Regexp
	Rotate       int64 // bytes; 0: as the program thinks best
	Keep         int   // how many rotated logs; 0: as the program thinks best
}

// Jobs is how much is kept of what a session's jobs write, in bytes; 0: as the program
// thinks best.
type Jobs struct {
	Output int64 // of each
	Disk   int64 // of all together, on disk
}

// Notify is how a person is told that something waits.
type Notify struct {
	Command       []string
	Desktop, Bell *bool // nil: as the program thinks best
}

// Load reads the configuration. It does not fail: what cannot be used denies everything,
// and Err says why.
func Load(src Source) *Config {
	c := &Config{rules: map[string]policy.Ruleset{}}
	c.read(src.Global(), global, src)
	if path := src.OfProject(); path != "" {
		c.read(path, project, src)
	}
	c.propose(src)
	sum := sha256.Sum256(c.hash)
	c.Digest = hex.EncodeToString(sum[:])
	if len(c.problems) == 0 {
		c.selfTest()
	}
	if n := len(c.problems); n > 0 {
		text := c.problems[0].String()
		if n > 1 {
			text += fmt.Sprintf(" (and %d more: docker hostexec policy check)", n-1)
		}
		c.Err = errors.New(text)
	}
	return c
}

// read reads one file of the host's, if it is there.
func (c *Config) read(path string, r role, src Source) {
	text, st, err := readFile(path)
	c.stamps = append(c.stamps, st)
	switch {
	case err != nil:
		c.problems = append(c.problems, policy.Problem{Where: path, Text: err.Error(), Fatal: true})
		return
	case text == nil:
		return
	}
	c.add(parse(path, text, r), src)
}

// add takes over what a document says.
func (c *Config) add(d *document, src Source) {
	c.digest(d)
	if d.role == project && d.project != "" && filepath.Clean(d.project) != filepath.Clean(src.Project) {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s: is for %s, not for %s: not used", d.file, d.project, src.Project))
		return
	}
	c.merge(d)
}

// digest adds a document to what Digest is of.
func (c *Config) digest(d *document) {
	for _, b := range [][]byte{[]byte(d.file), d.text} {
		c.hash = binary.BigEndian.AppendUint64(c.hash, uint64(len(b)))
		c.hash = append(c.hash, b...)
	}
}

// selfTest has a rule that fails its own tests break the configuration.
func (c *Config) selfTest() {
	for _, t := range c.Policy(nil).RunTests() {
		if t.Why != "" {
			c.problems = append(c.problems, policy.Problem{Where: t.Where, Rule: t.Rule, Text: "its own test fails: " + policy.Line(t.Args) + ": " + t.Why, Fatal: true})
		}
	}
}

// Policy returns what decides for a session whose --proxy commands are cmds.
func (c *Config) Policy(cmds []policy.Command) *policy.Policy {
	p := &policy.Policy{
		Commands: cmds,
		Rules:    maps.Clone(c.rules),
		Defaults: c.defaults,
		Auto:     c.auto,
		Manual:   c.manual,
	}
	if c.Err != nil {
		p.Broken = c.Err.Error()
	}
	c.identify(p)
	return p
}

// Stale reports whether a file has changed since Load. It looks, but does not read.
func (c *Config) Stale() bool {
	for _, s := range c.stamps {
		if s.stale() {
			return true
		}
	}
	return false
}

// Files returns the files that were looked for, there or not. None of them may lie below a
// mount, but for the workspace's, which is pinned.
func (c *Config) Files() []string {
	var files []string
	for _, s := range c.stamps {
		files = append(files, s.path)
	}
	return files
}

// Parts returns the files of the configuration that exist.
func (c *Config) Parts() (files []string) {
	for _, s := range c.stamps {
		if s.info != nil && filepath.Ext(s.path) == ".yaml" { // not the record of trusted files
			files = append(files, s.path)
		}
	}
	return files
}

// Program returns the program that a command names, or "".
func (c *Config) Program(name string) string { return c.rules[name].Exec }

// Programs returns the programs that commands name. None may lie below a mount.
func (c *Config) Programs() []string {
	var all []string
	for _, set := range c.rules {
		if set.Exec != "" && !set.Place.Contained() {
			all = append(all, set.Exec)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
