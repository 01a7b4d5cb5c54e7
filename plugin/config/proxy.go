// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// ProxiedCommand is an entry of proxies: a command that docker hostexec run proxies without a flag.
type ProxiedCommand struct {
	Value    string // in the form of --proxy
	Position string // file:line
}

// ParseProxy parses a value of --proxy or proxies: NAME[=VALUE][,KEY=VALUE]...
func ParseProxy(value string) (state.Command, error) {
	head, rest, more := strings.Cut(value, ",")
	name, short, given := strings.Cut(head, "=")
	c := state.Command{Name: name, Action: "allow"}
	if err := CheckName(name); err != nil {
		return c, err
	}
	if name == policy.Shell {
		return c, errors.New("this name is reserved for shells: use --proxy-shell")
	}
	if given {
		if err := shortValue(&c, short); err != nil {
			return c, err
		}
	}
	seen := map[string]bool{}
	for more {
		var option string
		option, rest, more = strings.Cut(rest, ",")
		key, _, _ := strings.Cut(option, "=")
		if seen[key] {
			return c, fmt.Errorf("%s given twice", key)
		}
		seen[key] = true
		if err := longValue(&c, option); err != nil {
			return c, err
		}
	}
	if name == policy.GitPush && (c.Where != nil || c.Keep) {
		return c, errors.New("it takes neither where nor keep")
	}
	if name == policy.GitPush {
		c.Shim = policy.GitHelper
	}
	if c.Where != nil && c.Where.Image == "" && *c.Where != (state.Place{Sandboxed: c.Where.Sandboxed}) {
		return c, errors.New("docker_host, network and limits need where=container:IMAGE")
	}
	return c, nil
}

// CheckName returns an error if name cannot be the name of a command. The name becomes a file name in the container and
// a word in messages: see policy.ValidName.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("no command named")
	case name == "hostexec":
		return errors.New("this name is reserved for hostexec")
	case !policy.ValidName(name):
		return errors.New("the name of a command has at most 64 letters, digits and . _ + -, and begins with a letter or digit")
	}
	return nil
}

func shortValue(c *state.Command, value string) error {
	switch {
	case value == "allow", value == "ask", value == "deny":
		c.Action, c.Explicit = value, true
		return nil
	case strings.HasPrefix(value, "/"):
		return setPath(c, value)
	}
	return fmt.Errorf("must be allow, ask, deny or an absolute path: %s", names.Quoted(value))
}

func longValue(c *state.Command, option string) error {
	key, value, given := strings.Cut(option, "=")
	switch key {
	case "keep":
		if given {
			return errors.New("keep takes no value")
		}
		c.Keep = true
		return nil
	case "path":
		return setPath(c, value)
	case "where":
		p, err := ParsePlace(value)
		if err != nil {
			return fmt.Errorf("where: %w", err)
		}
		place(c).Image, place(c).Sandboxed = p.Image, p.Sandboxed
		return nil
	}
	p := policy.Place(*place(c))
	if known, err := setPlaceKey(&p, key, value); known {
		*c.Where = state.Place(p)
		return err
	}
	return fmt.Errorf("unknown option %s (for a second command give --proxy again)", names.Quoted(key))
}

// place returns c.Where, and allocates it if it is nil.
func place(c *state.Command) *state.Place {
	if c.Where == nil {
		c.Where = &state.Place{}
	}
	return c.Where
}

func setPath(c *state.Command, path string) error {
	if c.Path != "" {
		return errors.New("two paths given")
	}
	if !filepath.IsAbs(path) {
		return fmt.Errorf("must be an absolute path: %s", names.Quoted(path))
	}
	c.Path = filepath.Clean(path)
	return nil
}

// PolicyCommands converts a session's commands for package policy.
func PolicyCommands(commands []state.Command) (all []policy.Command) {
	for _, c := range commands {
		action, _ := policy.ParseAction(c.Action) // an unknown action is Deny
		cmd := policy.Command{Name: c.Name, Action: action, Explicit: c.Explicit, Path: c.Path, Keep: c.Keep}
		if c.Where != nil {
			cmd.Placed, cmd.Place = true, policy.Place(*c.Where)
		}
		all = append(all, cmd)
	}
	return all
}
