// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Model is what compose config prints, as far as it matters here.
type Model struct {
	Name     string             `yaml:"name"`
	Services map[string]Service `yaml:"services"`
	Volumes  map[string]struct {
		Driver  string            `yaml:"driver"`
		Options map[string]string `yaml:"driver_opts"`
	} `yaml:"volumes"`
	Secrets map[string]File `yaml:"secrets"`
	Configs map[string]File `yaml:"configs"`
	Top     yaml.Node       `yaml:"x-hostexec"`
}

// Service is a service of a model.
type Service struct {
	Image       string             `yaml:"image"`
	Build       yaml.Node          `yaml:"build"`
	Platform    string             `yaml:"platform"`
	PullPolicy  string             `yaml:"pull_policy"`
	Environment map[string]*string `yaml:"environment"`
	WorkingDir  string             `yaml:"working_dir"`
	Volumes     []Volume           `yaml:"volumes"`
	VolumesFrom []string           `yaml:"volumes_from"`
	Secrets     []Given            `yaml:"secrets"`
	Configs     []Given            `yaml:"configs"`
	Socket      bool               `yaml:"use_api_socket"`
	Develop     struct {
		Watch []struct {
			Path   string `yaml:"path"`
			Action string `yaml:"action"`
		} `yaml:"watch"`
	} `yaml:"develop"`
	Tmpfs       []string    `yaml:"tmpfs"`
	Privileged  bool        `yaml:"privileged"`
	Pid         string      `yaml:"pid"`
	NetworkMode string      `yaml:"network_mode"`
	CapAdd      []string    `yaml:"cap_add"`
	Devices     []yaml.Node `yaml:"devices"`
	Provider    *struct {
		Type    string               `yaml:"type"`
		Options map[string]yaml.Node `yaml:"options"`
	} `yaml:"provider"`
	Hostexec yaml.Node `yaml:"x-hostexec"`
}

// Volume is a mount of a service.
type Volume struct {
	Type     string `yaml:"type"`
	Source   string `yaml:"source"`
	Target   string `yaml:"target"`
	ReadOnly bool   `yaml:"read_only"`
	Bind     struct {
		Propagation string `yaml:"propagation"`
	} `yaml:"bind"`
}

// Given is a secret or a config that a service gets.
type Given struct {
	Source string `yaml:"source"`
	Target string `yaml:"target"`
}

// File is a secret or a config: a file of the host's, unless its text stands elsewhere.
type File struct {
	File string `yaml:"file"`
}

// Read reads what compose config printed.
func Read(text []byte) (*Model, error) {
	m := new(Model)
	if err := read(text, m); err != nil {
		return nil, err
	}
	return m, nil
}

// read takes every dollar for one: they are two, so that compose would read it again as it is.
func read(text []byte, m any) error {
	if err := yaml.Unmarshal(bytes.ReplaceAll(text, []byte("$$"), []byte("$")), m); err != nil {
		return fmt.Errorf("read what docker compose config says: %w", err)
	}
	return nil
}

// ImageOf returns the image of a service, which compose names after it if it is built.
func (m *Model) ImageOf(name string, compat bool) string {
	sep := "-"
	if compat {
		sep = "_"
	}
	return cmp.Or(m.Services[name].Image, m.Name+sep+name)
}

// Built reports whether a service is built.
func (s Service) Built() bool { return !s.Build.IsZero() }

// Path returns the PATH that the service sets.
func (s Service) Path() (p string, set bool) {
	if v, ok := s.Environment["PATH"]; ok && v != nil {
		return *v, true
	}
	return "", false
}

// Targets returns where something is mounted.
func (s Service) Targets() (all []string) {
	for _, v := range s.Volumes {
		all = append(all, path.Clean(v.Target))
	}
	for _, t := range s.Tmpfs {
		t, _, _ = strings.Cut(t, ":")
		all = append(all, path.Clean(t))
	}
	for _, g := range s.Secrets {
		all = append(all, g.at(secretsAt))
	}
	for _, g := range s.Configs {
		all = append(all, g.at(configsAt))
	}
	return all
}

// Settings are what was said about a service: the values of flags, by their names.
type Settings map[string][]string

// over returns s with what below has and s has not.
func (s Settings) over(below Settings) Settings {
	all := Settings{}
	for k, v := range below {
		all[k] = v
	}
	for k, v := range s {
		all[k] = v
	}
	return all
}

// keyService is the key of the whole file that chooses services.
const keyService = "service"

// Choose returns the services that sessions are for, each with what was said about it:
// those that the file chooses, and those named. given is what was said on the command line,
// which goes before the file; it holds for those named, or else for all.
func (m *Model) Choose(named []string, given Settings) (map[string]Settings, error) {
	top, _, err := settings(&m.Top)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Key, err)
	}
	listed := top[keyService]
	delete(top, keyService)
	chosen := map[string]Settings{}
	for name, s := range m.Services {
		own, on, err := settings(&s.Hostexec)
		if err == nil && own[keyService] != nil {
			err = errors.New("service: it is one already")
		}
		if err != nil {
			return nil, fmt.Errorf("services.%s.%s: %w", name, Key, err)
		}
		off := !on && !s.Hostexec.IsZero()
		if on || slices.Contains(listed, name) && !off || slices.Contains(named, name) {
			chosen[name] = own.over(top)
		}
	}
	if err := m.known(append(slices.Clone(listed), named...), chosen); err != nil {
		return nil, err
	}
	if len(chosen) == 0 {
		name, err := m.only()
		if err != nil || len(given) == 0 {
			return nil, cmp.Or(err, error(errNone))
		}
		chosen[name] = top
	}
	for name := range chosen {
		if len(named) == 0 || slices.Contains(named, name) {
			chosen[name] = given.over(chosen[name])
		}
	}
	return chosen, nil
}

var errNone = errors.New("no service is chosen: name one with --service, or with " + Key + " in the compose file")

// only returns the only service, which needs no choosing.
func (m *Model) only() (string, error) {
	var names []string
	for name, s := range m.Services {
		if s.Provider == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) != 1 {
		return "", fmt.Errorf("%w (there are %s)", errNone, cmp.Or(strings.Join(names, ", "), "none"))
	}
	return names[0], nil
}

// known refuses names that no service has, and services that have no container, or have a
// session from elsewhere.
func (m *Model) known(services []string, chosen map[string]Settings) error {
	for _, name := range services {
		if _, ok := m.Services[name]; !ok {
			return fmt.Errorf("no such service: %s", names.Quoted(name))
		}
	}
	for name := range chosen {
		if m.Services[name].Provider != nil {
			return fmt.Errorf("service %s is a provider's: it has no container", name)
		}
	}
	for by, s := range m.Services {
		if s.Provider == nil || s.Provider.Type != Provider {
			continue
		}
		node := s.Provider.Options[keyService]
		list, err := values(&node)
		if err != nil {
			continue // the provider will say so
		}
		for _, name := range list {
			if _, ok := chosen[name]; ok {
				return fmt.Errorf("service %s has its session from the provider %s already: choose it once", name, by)
			}
		}
	}
	return nil
}

// settings reads a value of Key: a mapping, or true or false. on: it chooses.
func settings(n *yaml.Node) (s Settings, on bool, err error) {
	s = Settings{}
	switch {
	case n.IsZero(), n.Tag == "!!null":
		return s, false, nil
	case n.Tag == "!!bool":
		return s, n.Value == "true", nil
	case n.Kind != yaml.MappingNode:
		return nil, false, errors.New("it is a mapping, or true or false")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if s[key], err = values(n.Content[i+1]); err != nil {
			return nil, false, fmt.Errorf("%s: %w", key, err)
		}
	}
	return s, true, nil
}

// values are those of one key: a scalar, or a list of them.
func values(n *yaml.Node) ([]string, error) {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return nil, errors.New("it has no value")
		}
		return []string{n.Value}, nil
	case yaml.SequenceNode:
		all := []string{}
		for _, e := range n.Content {
			if e.Kind != yaml.ScalarNode {
				return nil, errors.New("its values are words")
			}
			all = append(all, e.Value)
		}
		return all, nil
	}
	return nil, errors.New("it is a word, or a list of words")
}
