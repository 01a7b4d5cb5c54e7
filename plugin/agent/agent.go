// SPDX-License-Identifier: Apache-2.0

// Package agent runs one agent over stdio, as a process of this host's or in a container,
// from one configuration.
//
//	client --stdin---> (initialize, session/new) --> agent
//	client <--stdout-- as it is ------------------- agent
//	client <--stderr-- as it is, while it is read -- agent
//
// Its one law: what client and agent say to each other passes untouched, whatever it is and
// however long: nothing here reads a line of it. An agent ends with its client, and what a
// failure finds done is undone. It does not decide what an agent may call: that is its
// session's, as for any container.
package agent

import (
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"

	"github.com/docker-hostexec/hostexec/plugin/config"
)

// Mode is where an agent runs.
type Mode string

// The modes. Unset is InProcess.
const (
	InProcess   Mode = "process"
	InContainer Mode = "container"
)

// Spec is an agent as it is to run.
type Spec struct {
	Name string // for people, and the audit log
	Mode Mode
	Args []string // its command; in a container none is the image's own
	Env  []string // NAME=value, beyond what it has anyway

	Container Container // where Mode is InContainer
}

// Container is what an agent's container is made of.
type Container struct {
	Image      string
	DockerHost string // where neither a flag nor the environment nor a context says
	Network    string
	Memory     int64  // bytes; 0: no limit
	CPUs       int64  // billionths of one; 0: no limit
	Base       string // the host's directory in which each agent has one of its own
	Path       string // where that is in the container
	Keep       bool   // the container stays when it has ended
	Startup    time.Duration
}

// Given is what was typed, which goes before what is configured. Empty is not given.
type Given struct {
	Mode  string
	Args  []string
	Image string
}

// Host is what a Spec depends on beyond its configuration.
type Host struct {
	Lookup     func(string) (string, bool) // a variable of the environment
	Workspaces string                      // where workspaces are if nothing is said
}

// New makes a Spec. Of what is configured only what the mode uses is looked at. It warns of
// variables that are not set, by name: values are secrets.
func New(c config.Agent, g Given, h Host) (s Spec, warnings []string, err error) {
	mode := or(g.Mode, c.Mode, string(InProcess))
	if s.Mode = Mode(mode); s.Mode != InProcess && s.Mode != InContainer {
		return s, nil, invalid("docker hostexec agent --mode container, or agent.mode: process", "invalid agent.mode: %s (must be '%s' or '%s')", printable(mode), InProcess, InContainer)
	}
	if s.Args = g.Args; len(s.Args) == 0 && c.Command != "" {
		s.Args = append([]string{c.Command}, c.Args...)
	}
	if s.Mode == InProcess && len(s.Args) == 0 {
		return s, nil, &Error{Type: InvalidConfig, Message: "no agent: agent.command is not set", Hint: "docker hostexec agent --config FILE, or docker hostexec agent -- COMMAND"}
	}
	if s.Env, warnings, err = environment(c.Env, h.Lookup); err != nil {
		return s, nil, err
	}
	if s.Mode == InContainer {
		if s.Container, err = newContainer(c.Container, g.Image, h); err != nil {
			return s, nil, err
		}
	}
	s.Name = or(c.Name, s.called())
	return s, warnings, nil
}

// called is what an agent is called that has no name: as its program, or else its image.
func (s *Spec) called() string {
	if len(s.Args) > 0 {
		return filepath.Base(s.Args[0])
	}
	name, _, _ := strings.Cut(path.Base(s.Container.Image), "@")
	name, _, _ = strings.Cut(name, ":")
	return name
}

func environment(vars []config.Variable, lookup func(string) (string, bool)) (env, warnings []string, err error) {
	for _, v := range vars {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") {
			return nil, nil, invalid("agent.env has lines such as NAME: value", "agent.env: %s is not the name of a variable", printable(v.Name))
		}
		value, unset := config.Expand(v.Value, lookup)
		if strings.ContainsRune(value, 0) {
			return nil, nil, invalid("remove the NUL byte", "agent.env: %s: a NUL byte in its value", printable(v.Name))
		}
		for _, name := range unset {
			warnings = append(warnings, fmt.Sprintf("agent.env: %s: %s is not set; an empty value is used", printable(v.Name), name))
		}
		env = append(env, v.Name+"="+value)
	}
	return env, warnings, nil
}

// newContainer reads what stands in agent.container.
func newContainer(said map[string]string, image string, h Host) (c Container, err error) {
	c = Container{
		Image:      or(image, said["image"]),
		DockerHost: said["docker_host"],
		Network:    or(said["network_mode"], "bridge"),
		Base:       h.Workspaces,
		Path:       path.Clean(or(said["workspace_container_path"], "/workspace")),
		Startup:    10 * time.Second,
	}
	if c.Image == "" {
		return c, &Error{Type: InvalidConfig, Message: "agent.container.image is required in container mode", Hint: "docker hostexec agent --mode container --image IMAGE"}
	}
	if !path.IsAbs(c.Path) || c.Path == "/" {
		return c, invalid("agent.container.workspace_container_path: /workspace", "agent.container.workspace_container_path: %s is not an absolute path below /", printable(c.Path))
	}
	if base := said["workspace_host_base"]; base != "" {
		if c.Base, err = config.ExpandDir(base, h.Lookup); err != nil {
			return c, invalid("agent.container.workspace_host_base: ~/workspaces", "agent.container.workspace_host_base: %v", err)
		}
	}
	return c, c.limits(said)
}

func (c *Container) limits(said map[string]string) error {
	for _, l := range []struct {
		key, example string
		read         func(string) error
	}{
		{"memory_limit", "512m", func(v string) (err error) { c.Memory, err = units.RAMInBytes(v); return err }},
		{"cpu_limit", "1.5", func(v string) (err error) { c.CPUs, err = cpus(v); return err }},
		{"auto_remove", "false", func(v string) error { remove, err := strconv.ParseBool(v); c.Keep = !remove; return err }},
		{"startup_timeout_seconds", "30", func(v string) (err error) { c.Startup, err = seconds(v); return err }},
	} {
		if value := said[l.key]; value != "" && l.read(value) != nil {
			return invalid("agent.container."+l.key+": "+l.example, "agent.container.%s: %s is not understood", l.key, printable(value))
		}
	}
	return nil
}

func cpus(s string) (int64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err == nil && !(n >= 0 && n <= 1<<20) {
		err = strconv.ErrRange
	}
	return int64(n * 1e9), err
}

func seconds(s string) (time.Duration, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err == nil && !(n > 0 && n <= 86400) {
		err = strconv.ErrRange
	}
	return time.Duration(n * float64(time.Second)), err
}

// or returns the first of words that is not empty.
func or(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}
