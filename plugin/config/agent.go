// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// Agent is the agent section of the configuration, unchecked. The meaning of a value depends on the mode,
// and keys that a mode does not use may have any value. The section allows no request, so an error in it
// does not break the rest of the configuration. Unknown keys cause a warning only, so that files of other
// programs that run agents can be used unchanged.
type Agent struct {
	Name    string
	Mode    string
	Command string
	Args    []string
	Env     []Variable
	// Container holds the values of the container section, by key.
	Container map[string]string
	Position  string // file:line of the section's first key; empty if there are several sections

	Warnings []string
	problems []policy.Problem
	sections int // that were merged
}

// Variable is one environment variable of an agent. Value is the unexpanded text.
type Variable struct{ Name, Value string }

// containerKeys are the keys of agent.container.
var containerKeys = []string{"image", "docker_host", "network_mode", "memory_limit", "cpu_limit", "workspace_host_base",
	"workspace_container_path", "auto_remove", "startup_timeout_seconds"}

// Err returns the first error in the agent's section, or nil.
func (a *Agent) Err() error {
	if len(a.problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s", a.problems[0])
}

// LoadAgent reads the agent section of a file that is not one of hostexec's own. It ignores all other
// sections.
func LoadAgent(path string) (Agent, error) {
	open := func(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|noBlock, 0) }
	text, _, err := readWith(path, open, func(fs.FileInfo) error { return nil })
	if err == nil && text == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Agent{}, fmt.Errorf("read %s: %w", path, err)
	}
	r := &reader{file: path}
	var a Agent
	if root := r.parseYAML(text); root != nil {
		r.fieldsWithWarnings(root, "the file", map[string]func(*yaml.Node){"agent": func(n *yaml.Node) { a.read(r, n) }})
	}
	a.addDiagnostics(r)
	return a, a.Err()
}

// read merges n into a. Values in n replace values that were read before.
func (a *Agent) read(r *reader, n *yaml.Node) {
	word := func(what string, into *string) func(*yaml.Node) { return scalar(r, what, into, text) }
	r.fieldsWithWarnings(n, "agent", map[string]func(*yaml.Node){
		"name":      word("name", &a.Name),
		"mode":      scalar(r, "mode", &a.Mode, agentMode),
		"command":   word("command", &a.Command),
		"args":      r.scalars("args", &a.Args),
		"env":       func(n *yaml.Node) { a.readEnv(r, n) },
		"container": func(n *yaml.Node) { a.readContainer(r, n) },
	})
}

// agentMode refuses an empty mode, which would mean the default: a process of this host.
func agentMode(s string) (string, error) {
	if s == "" {
		return "", errors.New("it is empty: must be 'process' or 'container'")
	}
	return s, nil
}

func (a *Agent) readEnv(r *reader, n *yaml.Node) {
	a.Env = nil
	r.each(n, "env", func(key, value *yaml.Node) {
		v := Variable{Name: key.Value}
		if !isNull(value) { // NAME: without a value sets it to the empty string
			scalar(r, key.Value, &v.Value, text)(value)
		}
		a.Env = append(a.Env, v)
	})
}

func (a *Agent) readContainer(r *reader, n *yaml.Node) {
	merged := maps.Clone(a.Container)
	if merged == nil {
		merged = map[string]string{}
	}
	known := map[string]func(*yaml.Node){}
	for _, key := range containerKeys {
		known[key] = func(n *yaml.Node) {
			value := n.Value // the user of the value reports a list as an error
			if n.Kind != yaml.ScalarNode {
				value = "?"
			}
			merged[key] = value
		}
	}
	r.fieldsWithWarnings(n, "agent.container", known)
	a.Container = merged
}

// addDiagnostics adds the problems and warnings of r to a.
func (a *Agent) addDiagnostics(r *reader) {
	a.problems = append(a.problems, r.problems...)
	for _, w := range r.warnings {
		a.Warnings = append(a.Warnings, w.String())
	}
}

// fieldsWithWarnings is like fields, but an unknown key is a warning, not an error.
func (r *reader) fieldsWithWarnings(n *yaml.Node, what string, known map[string]func(*yaml.Node)) {
	r.each(n, what, func(key, value *yaml.Node) {
		if read, ok := known[key.Value]; ok {
			read(value)
			return
		}
		r.warn(key, false, "unknown key %s in %s is ignored: there are %s", names.Quoted(key.Value), what, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	})
}

// agent merges the agent section of one of hostexec's own files.
func (c *Config) agent(d *document) {
	if d.agent == nil {
		return
	}
	r := &reader{file: d.file}
	c.Agent.read(r, d.agent)
	c.Agent.sections++
	if c.Agent.Position = ""; c.Agent.sections == 1 {
		c.Agent.Position = r.where(d.agent)
	}
	c.Agent.addDiagnostics(r)
	for _, p := range append(r.problems, r.warnings...) {
		p.Fatal = len(r.problems) > 0 // policy check fails; requests are still decided
		c.warnings = append(c.warnings, p)
	}
}
