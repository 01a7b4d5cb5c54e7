// SPDX-License-Identifier: Apache-2.0

package config

import (
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// maxPorts limits the list of ports of a sandbox.
const maxPorts = 64

// sandbox reads the sandbox section of a command.
func (d *document) sandbox(s *policy.Sandbox) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d.fields(n, "sandbox", map[string]func(*yaml.Node){
			"write": d.writes(&s.Write),
			"read":  d.paths("read", &s.Read),
			"creds": d.paths("creds", &s.Creds),
			"cache": d.caches(&s.Cache),
			"net":   func(n *yaml.Node) { s.Net = d.net(n) },
			"env":   d.variables(&s.Env),
		})
	}
}

// paths reads a list of absolute paths, or of paths below the home (~/).
func (d *document) paths(what string, into *[]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		var list []string
		d.scalars(what, &list)(n)
		for _, p := range list {
			path, ok := homePath(p)
			if !ok {
				d.fail(n, "sandbox: %s: %s is neither an absolute path nor one below ~/", what, names.Quoted(p))
				return
			}
			*into = append(*into, path)
		}
	}
}

// writes reads the paths that a command may write. It refuses /dev, and all of /proc and /sys: with these, a command of
// root could leave the sandbox.
func (d *document) writes(into *[]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d.paths("write", into)(n)
		for _, p := range *into {
			if p == "/dev" || names.Within(p, "/proc") || names.Within(p, "/sys") {
				d.fail(n, "sandbox: write: %s belongs to the kernel", names.Quoted(p))
			}
		}
	}
}

// caches reads a list of directories below the home.
func (d *document) caches(into *[]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d.paths("cache", into)(n)
		home, _ := homePath("~/")
		for _, p := range *into {
			if !strings.HasPrefix(p, home+"/") {
				d.fail(n, "sandbox: cache: %s is not below the home", names.Quoted(p))
			}
		}
	}
}

// homePath returns the cleaned path, with the home for ~.
func homePath(p string) (path string, ok bool) {
	path, err := osenv.ExpandHome(p)
	return filepath.Clean(path), err == nil && p != "~" && filepath.IsAbs(path)
}

// variables reads a list of names of variables.
func (d *document) variables(into *[]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d.scalars("env", into)(n)
		for _, name := range *into {
			if !envName.Matches(name) || strings.HasPrefix(name, "HOSTEXEC_") {
				d.fail(n, "sandbox: env: %s cannot be the name of a variable here", names.Quoted(name))
			}
		}
	}
}

// net reads none, all, or a list of ports.
func (d *document) net(n *yaml.Node) (net policy.Net) {
	if n.Kind == yaml.ScalarNode {
		switch n.Value {
		case "none":
		case "all":
			net.All = true
		default:
			d.fail(n, "sandbox: net: %s is none of none, all and a list of ports", names.Quoted(n.Value))
		}
		return net
	}
	d.list(n, "net", func(n *yaml.Node) {
		port, err := strconv.ParseUint(n.Value, 10, 16)
		if err != nil || port == 0 || n.Kind != yaml.ScalarNode {
			d.fail(n, "sandbox: net: %s is not a port", names.Quoted(n.Value))
			return
		}
		if len(net.Ports) == maxPorts {
			d.fail(n, "sandbox: net: more than %d ports", maxPorts)
			return
		}
		net.Ports = append(net.Ports, uint16(port))
	})
	return net
}
