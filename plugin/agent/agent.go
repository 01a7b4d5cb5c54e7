// SPDX-License-Identifier: Apache-2.0

// Package agent runs one agent for an editor or another client, which speaks to it over stdin and stdout. For example,
// they speak the Agent Client Protocol (ACP). The agent is a process in a container, or on this host. One on this host
// is only prepared here: the watcher, in package watch/process, runs it.
//
//	client --stdin---> after Handshake, if any -----> agent
//	client <--stdout-- unchanged ------------------- agent
//	client <--stderr-- unchanged, while it is read -- agent
//
// stdin and stdout pass unchanged and without a limit; this package never parses them. In a container, stderr that
// nobody reads is dropped. An agent ends with its client. If an agent does not start, everything that was created for
// it is removed. The session decides which commands the agent may call, as for any container.
package agent

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/config"
)

// Mode is the place where an agent runs.
type Mode string

// The modes. The default is OnHost.
const (
	OnHost      Mode = "process"
	InContainer Mode = "container"
)

// Spec is the specification of an agent to run.
type Spec struct {
	Name string // shown to users and in the audit log
	Mode Mode
	Args []string // the command; in a container, empty means the image's own
	Env  []string // NAME=value, added to the default environment

	Container Container // used if Mode is InContainer
}

// Container is the configuration of an agent's container.
type Container struct {
	Image      string
	DockerHost string // used if flags, environment and context name no engine
	Network    string
	Memory     int64  // bytes; 0: no limit
	CPUs       int64  // in units of 1e-9 CPU; 0: no limit
	Base       string // host directory with the directories of the agents
	Path       string // mount point of the agent's directory in the container
	Keep       bool   // keep the container after its end
	Startup    time.Duration
}

// Overrides holds the values of the command line, which replace those of the configuration unless empty.
type Overrides struct {
	Mode  string
	Args  []string
	Image string
}

// Host holds the values of the host that a Spec depends on.
type Host struct {
	Lookup     func(string) (string, bool) // looks up an environment variable
	Workspaces string                      // the default directory of workspaces
}

// NewSpec makes a Spec. It reads only the values that the mode uses. It warns of unset variables by name only,
// because values are secrets.
func NewSpec(c config.Agent, o Overrides, h Host) (s Spec, warnings []string, err error) {
	mode := cmp.Or(o.Mode, c.Mode, string(OnHost))
	if s.Mode = Mode(mode); s.Mode != OnHost && s.Mode != InContainer {
		return s, nil, invalid("docker hostexec agent --mode container, or agent.mode: process", "invalid agent.mode: %s (must be '%s' or '%s')", names.Escaped(mode), OnHost, InContainer)
	}
	if s.Args = o.Args; len(s.Args) == 0 && c.Command != "" {
		s.Args = append([]string{c.Command}, c.Args...)
	}
	if len(s.Args) > 0 && s.Args[0] == "" {
		return s, nil, invalid("docker hostexec agent -- COMMAND", "the agent's command is empty")
	}
	if s.Mode == OnHost && len(s.Args) == 0 {
		return s, nil, &Error{Type: InvalidConfig, Message: "no agent: agent.command is not set", Hint: "docker hostexec agent --config FILE, or docker hostexec agent -- COMMAND"}
	}
	if s.Env, warnings, err = environment(c.Env, h.Lookup); err != nil {
		return s, nil, err
	}
	if s.Mode == InContainer {
		if s.Container, err = newContainer(c.Container, o.Image, h); err != nil {
			return s, nil, err
		}
	}
	s.Name = cmp.Or(c.Name, s.defaultName())
	return s, warnings, nil
}

// defaultName returns the default name of an agent: the name of its program, or else of its image.
func (s *Spec) defaultName() string {
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
			return nil, nil, invalid("write a line of agent.env as NAME: value", "agent.env: %s is not the name of a variable", names.Escaped(v.Name))
		}
		value, unset := config.Expand(v.Value, lookup)
		if strings.ContainsRune(value, 0) {
			return nil, nil, invalid("remove the NUL byte", "agent.env: %s: a NUL byte in its value", names.Escaped(v.Name))
		}
		for _, name := range unset {
			warnings = append(warnings, fmt.Sprintf("agent.env: %s: %s is not set; an empty value is used", names.Escaped(v.Name), name))
		}
		env = append(env, v.Name+"="+value)
	}
	return env, warnings, nil
}

// newContainer reads the agent.container section.
func newContainer(settings map[string]string, image string, h Host) (c Container, err error) {
	c = Container{
		Image:      cmp.Or(image, settings["image"]),
		DockerHost: settings["docker_host"],
		Network:    cmp.Or(settings["network_mode"], "bridge"),
		Base:       h.Workspaces,
		Path:       path.Clean(cmp.Or(settings["workspace_container_path"], "/workspace")),
		Startup:    10 * time.Second,
	}
	if c.Image == "" {
		return c, &Error{Type: InvalidConfig, Message: "agent.container.image is required in container mode", Hint: "docker hostexec agent --mode container --image IMAGE"}
	}
	if !path.IsAbs(c.Path) || c.Path == "/" {
		return c, invalid("agent.container.workspace_container_path: /workspace", "agent.container.workspace_container_path: %s is not an absolute path below /", names.Escaped(c.Path))
	}
	if base := settings["workspace_host_base"]; base != "" {
		if c.Base, err = config.ExpandDir(base, h.Lookup); err != nil {
			return c, invalid("agent.container.workspace_host_base: ~/workspaces", "agent.container.workspace_host_base: %v", err)
		}
	}
	return c, c.limits(settings)
}

func (c *Container) limits(settings map[string]string) error {
	for _, l := range []struct {
		key, example string
		read         func(string) error
	}{
		{"memory_limit", "512m", func(v string) (err error) { c.Memory, err = units.RAMInBytes(v); return err }},
		{"cpu_limit", "1.5", func(v string) (err error) { c.CPUs, err = cpus(v); return err }},
		{"auto_remove", "false", func(v string) error { remove, err := strconv.ParseBool(v); c.Keep = !remove; return err }},
		{"startup_timeout_seconds", "30", func(v string) (err error) { c.Startup, err = seconds(v); return err }},
	} {
		if value := settings[l.key]; value != "" && l.read(value) != nil {
			return invalid("agent.container."+l.key+": "+l.example, "agent.container.%s: %s is not understood", l.key, names.Escaped(value))
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
