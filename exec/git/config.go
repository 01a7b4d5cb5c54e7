// SPDX-License-Identifier: Apache-2.0

package git

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// entry is one value of the configuration.
type entry struct {
	scope  string // system, global, local, worktree, command
	origin string // the file in git's notation, or "command line"
	key    string // in git's notation: section and variable are in lower case
	value  string
}

// fromRepository reports whether the repository itself sets the entry. Other entries come from the
// configuration of the user or of the host.
func (e entry) fromRepository() bool {
	return e.scope != "system" && e.scope != "global" && e.scope != "command"
}

// config is a configuration. Later values override earlier ones.
type config struct{ entries []entry }

var errForm = errors.New("not scope, origin, key and value")

// parseConfig parses the output of git config --list --show-scope --show-origin -z.
func parseConfig(b []byte) (*config, error) {
	fields := strings.Split(string(b), "\x00")
	if fields[len(fields)-1] != "" || len(fields)%3 != 1 {
		return nil, errForm
	}
	cfg := &config{}
	for i := 0; i+2 < len(fields); i += 3 {
		e := entry{scope: fields[i]}
		kind, origin, ok := strings.Cut(fields[i+1], ":")
		if !ok || kind != "file" && kind != "command line" {
			return nil, fmt.Errorf("an origin is %s", names.Quoted(fields[i+1]))
		}
		e.origin = origin
		if kind != "file" {
			e.origin = kind
		}
		e.key, e.value, ok = strings.Cut(fields[i+2], "\n")
		if !ok {
			e.value = "true" // a key without a value
		}
		cfg.entries = append(cfg.entries, e)
	}
	return cfg, nil
}

// value returns the effective value of key.
func (c *config) value(key string) (value string, ok bool) {
	for _, e := range c.entries {
		if e.key == key {
			value, ok = e.value, true
		}
	}
	return value, ok
}

// isTrue reports whether key, which is a boolean or a number, is set and not false.
func (c *config) isTrue(key string) bool {
	value, ok := c.value(key)
	return ok && !slices.Contains([]string{"", "false", "no", "off", "0"}, strings.ToLower(value))
}

func (c *config) diffsSubmodules() bool {
	value, ok := c.value("diff.submodule")
	return ok && value != "short"
}

// remotes returns the names of the remotes that have a URL.
func (c *config) remotes() map[string]bool {
	names := map[string]bool{}
	for _, e := range c.entries {
		if section, name, variable := split(e.key); section == "remote" && variable == "url" {
			names[name] = true
		}
	}
	return names
}

// split splits a key. The subsection may contain dots.
func split(key string) (section, subsection, variable string) {
	section, rest, _ := strings.Cut(key, ".")
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		return section, rest[:i], rest[i+1:]
	}
	return section, "", rest
}

// canonical returns key in git's notation.
func canonical(key string) string {
	section, subsection, variable := split(key)
	if strings.Count(key, ".") < 2 {
		return strings.ToLower(key)
	}
	return strings.ToLower(section) + "." + subsection + "." + strings.ToLower(variable)
}
