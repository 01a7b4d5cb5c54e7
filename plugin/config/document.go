// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// role determines which sections a file may have.
type role int

const (
	global role = iota
	project
	workspace // commands, approval lists, proxies and services only: it cannot change how requests are recorded or reported
)

// document is one parsed file. It has a field and a method for each section, and so more than other types.
type document struct {
	*reader
	role role
	text []byte

	project  string
	approval approval
	audit    audit
	notify   Notify
	jobs     Jobs
	limits   Limits
	proxies  []ProxiedCommand
	services map[string]Service
	defaults policy.Settings
	commands map[string]policy.Ruleset
	git      Git
	agent    *yaml.Node
}

type approval struct {
	auto, manual    []policy.LinePattern
	timeout         *time.Duration
	always, durable *bool
}

type audit struct {
	sync         *string
	perContainer *bool
	redact       []*regexp.Regexp
	rotate       *int64
	keep         *int
}

// parse reads the text of a file. Errors are in the document's problems.
func parse(file string, text []byte, r role) *document {
	d := &document{reader: &reader{file: file}, role: r, text: text, commands: map[string]policy.Ruleset{}}
	root := d.parseYAML(text)
	if root == nil {
		return d
	}
	sectionName := ""
	section := func(name string) func(*yaml.Node) {
		return func(n *yaml.Node) {
			if sectionName != "" {
				d.warn(n, false, "%s and %s are the same section: both are used", sectionName, name)
			}
			sectionName = name
			d.readApproval(n, name)
		}
	}
	known := map[string]func(*yaml.Node){
		"version":  d.version,
		"approval": section("approval"),
		"hostexec": section("hostexec"),
		"commands": d.readCommands,
		"proxies": func(n *yaml.Node) {
			d.readProxyList(n, "proxies", func(p ProxiedCommand) { d.proxies = append(d.proxies, p) })
		},
		"services": d.readServices,
	}
	if r != workspace {
		known["audit"], known["notify"], known["jobs"] = d.readAudit, d.readNotify, d.readJobs
		known["limits"] = d.readLimits
		known["git"] = d.readGit
		known["agent"] = func(n *yaml.Node) { d.agent = n } // this section allows no request
		known["defaults"] = func(n *yaml.Node) { d.fields(n, "defaults", d.settings(&d.defaults)) }
	}
	if r == project {
		known["project"] = scalar(d.reader, "project", &d.project, absolute)
	}
	d.fields(root, "the file", known)
	return d
}

func (d *document) version(n *yaml.Node) {
	if n.Value != "1" || n.Kind != yaml.ScalarNode {
		d.fail(n, "version %s: this hostexec understands version 1", names.Quoted(n.Value))
	}
}

func absolute(s string) (string, error) {
	if !filepath.IsAbs(s) || strings.ContainsRune(s, 0) {
		return "", fmt.Errorf("%s is not an absolute path", names.Quoted(s))
	}
	return filepath.Clean(s), nil
}

func (d *document) readApproval(n *yaml.Node, name string) {
	a := &d.approval
	known := map[string]func(*yaml.Node){
		"auto_approve":   d.patterns(name+".auto_approve", true, &a.auto),
		"manual_approve": d.patterns(name+".manual_approve", false, &a.manual),
	}
	if d.role != workspace {
		known["timeout"] = optionalScalar(d.reader, "timeout", &a.timeout, parseApprovalTimeout)
		known["durable"] = optionalScalar(d.reader, "durable", &a.durable, parseBool)
		known["wait"] = optionalScalar(d.reader, "wait", &a.always, parseWait)
		for key, isSet := range map[string]bool{"timeout": a.timeout != nil, "durable": a.durable != nil, "wait": a.always != nil} {
			if isSet { // under the section's other name
				known[key] = func(n *yaml.Node) {
					d.fail(n, "duplicate key %s in %s: approval and hostexec are the same section", names.Quoted(key), name)
				}
			}
		}
	}
	d.fields(n, name, known)
}

func parseWait(s string) (always bool, err error) {
	_, err = choice("always", "approver")(s)
	return s == "always", err
}

// parseApprovalTimeout parses the time that the user has to answer. Zero is an error.
func parseApprovalTimeout(s string) (time.Duration, error) {
	t, err := duration(s)
	if err == nil && t == 0 {
		err = errors.New("must be longer than 0s")
	}
	return t, err
}

// patterns reads a list of regular expressions. An entry is a string or {pattern: string}, which may have anywhere:
// true if auto is set. An invalid pattern is ignored with a warning: requests that it would have matched are decided
// without it.
func (d *document) patterns(what string, auto bool, into *[]policy.LinePattern) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d.list(n, what, func(n *yaml.Node) {
			source, anywhere, before := "", false, len(d.problems)
			if read := scalar(d.reader, what, &source, text); n.Kind == yaml.MappingNode {
				known := map[string]func(*yaml.Node){"pattern": read}
				if auto {
					known["anywhere"] = scalar(d.reader, "anywhere", &anywhere, parseBool)
				}
				if d.fields(n, what, known); source == "" && len(d.problems) == before {
					d.fail(n, "%s: pattern is missing: write {pattern: '^...$'}", what)
				}
			} else {
				read(n)
			}
			if len(d.problems) > before {
				return
			}
			p, err := policy.ParseLinePattern(source)
			if err != nil {
				d.warn(n, true, "%s: %s: %v: the pattern is ignored until it is corrected", what, policy.CommandLine([]string{source}), err)
				return
			}
			p.Position, p.Anywhere = d.where(n), anywhere
			*into = append(*into, p)
		})
	}
}

func (d *document) readAudit(n *yaml.Node) {
	a := &d.audit
	d.fields(n, "audit", map[string]func(*yaml.Node){
		"sync":          optionalScalar(d.reader, "sync", &a.sync, choice("always", "approved")),
		"per_container": optionalScalar(d.reader, "per_container", &a.perContainer, parseBool),
		"rotate":        optionalScalar(d.reader, "rotate", &a.rotate, parseRotate),
		"keep":          optionalScalar(d.reader, "keep", &a.keep, parseKeep),
		"redact": func(n *yaml.Node) {
			d.list(n, "redact", func(n *yaml.Node) {
				var re *regexp.Regexp
				if scalar(d.reader, "redact", &re, redaction)(n); re != nil {
					a.redact = append(a.redact, re)
				}
			})
		},
	})
}

func (d *document) readJobs(n *yaml.Node) {
	d.fields(n, "jobs", map[string]func(*yaml.Node){
		"output": scalar(d.reader, "output", &d.jobs.Output, parsePositiveSize),
		"disk":   scalar(d.reader, "disk", &d.jobs.Disk, parsePositiveSize),
	})
}

func parsePositiveSize(s string) (int64, error) {
	n, err := size(s)
	if err == nil && n == 0 {
		err = errors.New("0 does not mean unlimited: write a size such as 64KiB or 1GiB")
	}
	return n, err
}

func redaction(s string) (*regexp.Regexp, error) {
	if len(s) > policy.MaxPattern {
		return nil, fmt.Errorf("a pattern of %d bytes, at most %d are allowed", len(s), policy.MaxPattern)
	}
	re, err := regexp.Compile(s)
	if err == nil && re.MatchString("") {
		return nil, fmt.Errorf("%s matches the empty text: require at least one character, as in x+", names.Quoted(s))
	}
	return re, err
}

func (d *document) readNotify(n *yaml.Node) {
	d.fields(n, "notify", map[string]func(*yaml.Node){
		"command": func(n *yaml.Node) {
			d.scalars("command", &d.notify.Command)(n)
			if c := d.notify.Command; len(c) > 0 && !filepath.IsAbs(c[0]) {
				d.fail(n, "command: %s is not an absolute path", names.Quoted(c[0]))
			}
		},
		"desktop": optionalScalar(d.reader, "desktop", &d.notify.Desktop, parseBool),
		"bell":    optionalScalar(d.reader, "bell", &d.notify.Bell, parseBool),
	})
}

// readProxyList reads a list of commands. The form is that of --proxy.
func (d *document) readProxyList(n *yaml.Node, what string, add func(ProxiedCommand)) {
	seen := map[string]bool{}
	d.list(n, what, func(n *yaml.Node) {
		p, ok := d.scalar(n, what)
		if !ok {
			return
		}
		c, err := ParseProxy(p)
		if err == nil && seen[c.Name] {
			err = errors.New("given twice")
		}
		if err != nil {
			d.fail(n, "%s: %s: %v", what, names.Quoted(p), err)
			return
		}
		seen[c.Name] = true
		add(ProxiedCommand{p, d.where(n)})
	})
}
