// SPDX-License-Identifier: Apache-2.0

// Package config reads the user's configuration: the requests that containers may make, how the user is
// asked for approval, and what is recorded.
//
//	config.yaml                  for all projects
//	projects/<name>.yaml         for one project, takes precedence
//	<workspace>/.hostexec.yaml   a proposal, ignored until the user trusts it
//	        |  the bytes that are hashed are the bytes that are parsed
//	        v
//	     Config -> policy.Policy, and one section for each package that uses it
//
// A file that cannot be parsed completely allows nothing. An unknown key, a duplicate key or a rule that fails its own
// tests breaks the configuration. A broken configuration denies every request. In the agent section an unknown key is
// only a warning. If the file can be parsed, any other error there breaks only that section, which cannot allow
// requests. An invalid pattern of auto_approve or manual_approve is ignored with a warning, and so is a proposal that
// cannot be read. This package makes no decisions about requests.
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
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Source names the configuration files.
type Source struct {
	Store     string // the state directory
	Project   string // absolute path of the directory where the session was started; empty: none
	Workspace string // the directory that the container works in, absolute; empty: none
	File      string // replaces config.yaml; empty: not set
	Draft     Change // if not zero, Draft.After is used in place of the text of Draft.File
}

// GlobalFile returns the path of the file that applies to all projects.
func (s Source) GlobalFile() string {
	if s.File != "" {
		return s.File
	}
	return filepath.Join(s.Store, "config.yaml")
}

// ProjectFile returns the path of the project's file, or "" if the directory has no name.
func (s Source) ProjectFile() string {
	name := ProjectName(s.Project)
	if name == "" {
		return ""
	}
	return filepath.Join(s.Store, "projects", name+".yaml")
}

// ProposalFile returns the path of the workspace's file, or "" if there is no workspace.
func (s Source) ProposalFile() string {
	if s.Workspace == "" {
		return ""
	}
	return filepath.Join(s.Workspace, ".hostexec.yaml")
}

// ProjectName returns the name of the project in dir. The name is the base name, with a - for each
// character other than letters, digits and . _ + -. Leading characters . _ + - are removed, and the name
// is cut to 64 bytes. Directories with the same base name share a project name. A file with project:
// /its/directory applies to that directory only.
func ProjectName(dir string) string {
	if dir == "" {
		return ""
	}
	name := strings.TrimLeft(strings.Map(projectNameRune, filepath.Base(dir)), "._+-")
	return name[:min(len(name), 64)]
}

// projectNameRune returns r, or the character that replaces it in a project name.
func projectNameRune(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("._+-", r):
		return r
	}
	return '-'
}

// Config is the whole configuration of one project. It does not change after Load. It has a field for each section.
type Config struct {
	Approval Approval
	Audit    Audit
	Notify   Notify
	Jobs     Jobs
	Limits   Limits
	Git      Git                // for git-push
	Proxies  []ProxiedCommand   // for run in this project
	Services map[string]Service // for the containers of compose services, by name
	Agent    Agent              // for docker hostexec agent
	Warnings []string           // about ignored parts
	Err      error              // the reason why everything is denied
	Digest   string             // of all text that was read, in hex

	rules        map[string]policy.Ruleset
	defaults     policy.Settings
	auto, manual []policy.LinePattern
	problems     []policy.Problem
	warnings     []policy.Problem
	stamps       []stamp
	hash         []byte
}

// Approval configures how the user is asked.
type Approval struct {
	Timeout    time.Duration // 0: the program's default
	WaitAlways bool          // wait for an answer even if no approver seems to be present
	Durable    bool          // a question is kept for a while after its caller has left
}

// Audit configures what is recorded, and where.
type Audit struct {
	Sync         string // always, approved, or empty: never
	PerContainer bool
	Redact       []*regexp.Regexp
	Rotate       int64 // bytes; 0: the program's default
	Keep         int   // the number of rotated logs that are kept; 0: the program's default
}

// Jobs limits the stored output of a session's jobs, in bytes; 0 means the program's default.
type Jobs struct {
	Output int64 // per job
	Disk   int64 // of all jobs together, on disk
}

// Notify configures how the user is notified of a waiting request. The zero value beeps on the terminal that the
// session was started on, and notifies on the desktop, if there is one.
type Notify struct {
	Command []string // a program and its arguments, run without a shell; nil: none
	Desktop *bool    // nil: if there is a desktop
	Bell    *bool    // nil: true
}

// Load reads the configuration. It returns no error: if a file that has effect is broken, the configuration denies
// every request and Err says why. A proposal of the workspace that cannot be read is ignored with a warning.
func Load(src Source) *Config {
	c := &Config{rules: map[string]policy.Ruleset{}}
	c.read(src.GlobalFile(), global, src)
	if path := src.ProjectFile(); path != "" {
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

// read reads one file on the host, if it exists.
func (c *Config) read(path string, r role, src Source) {
	text, st, err := readFile(path)
	if path == src.Draft.File {
		text = src.Draft.After
	}
	c.stamps = append(c.stamps, st)
	switch {
	case err != nil:
		c.problems = append(c.problems, policy.Problem{Position: path, Text: err.Error(), Fatal: true})
		return
	case text == nil:
		return
	}
	c.add(parse(path, text, r), src)
}

// add merges the values of a document.
func (c *Config) add(d *document, src Source) {
	c.digest(d)
	if d.role == project && d.project != "" && filepath.Clean(d.project) != filepath.Clean(src.Project) {
		why := fmt.Sprintf("is for %s, not for %s: not used", d.project, src.Project)
		c.skip(d.file, d.file+": "+why, why)
		return
	}
	c.merge(d)
}

// digest adds a document to the hash that Digest is made of.
func (c *Config) digest(d *document) {
	for _, b := range [][]byte{[]byte(d.file), d.text} {
		c.hash = binary.BigEndian.AppendUint64(c.hash, uint64(len(b)))
		c.hash = append(c.hash, b...)
	}
}

// selfTest breaks the configuration if a rule fails its own tests.
func (c *Config) selfTest() {
	for _, t := range c.Policy(nil).RunTests() {
		if t.Why != "" {
			c.problems = append(c.problems, policy.Problem{Position: t.Position, Rule: t.Rule, Text: "its own test fails: " + policy.CommandLine(t.Args) + ": " + t.Why, Fatal: true})
		}
	}
}

// Policy returns the policy of a session with the --proxy commands cmds.
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
	c.resolvePrograms(p)
	return p
}

// SessionPolicy returns the policy of a session.
func (c *Config) SessionPolicy(rec *state.Session) *policy.Policy {
	p := c.Policy(PolicyCommands(rec.Proxied()))
	if rec.Shell != nil {
		p.ShellContainers = rec.Shell.In
	}
	return p
}

// Stale reports whether a file has changed since Load. It calls stat and does not read files.
func (c *Config) Stale() bool {
	for _, s := range c.stamps {
		if s.stale() {
			return true
		}
	}
	return false
}

// Files returns the paths whose changes make Stale true, also those of missing files. No container may have a writable
// mount of them, except for the workspace's file, whose digest is checked.
func (c *Config) Files() []string {
	var files []string
	for _, s := range c.stamps {
		files = append(files, s.path)
	}
	return files
}

// ExistingFiles returns the files of the configuration that exist.
func (c *Config) ExistingFiles() (files []string) {
	for _, s := range c.stamps {
		if s.info != nil && filepath.Ext(s.path) == ".yaml" { // excludes the trust directory
			files = append(files, s.path)
		}
	}
	return files
}

// Program returns the program of a command, or "".
func (c *Config) Program(name string) string { return c.rules[name].Exec }
