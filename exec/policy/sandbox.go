// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Sandbox describes the permissions of a command that runs on the host in a sandbox, in addition to the
// container's directories. The zero value permits nothing more. Paths are absolute.
type Sandbox struct {
	Write []string // directories and files of the host that it may change
	Read  []string // that it may read, and whose programs it may run
	Creds []string // credentials that it may read
	Cache []string // directories below the home, of which it has copies in the sandbox's own home: see SandboxDirs of plugin/state
	Net   Net
	Env   []string // variables of the host that it gets

	// These are not in the configuration.
	ReadOnly bool   // it may write nothing, not even below the container's directories
	Copies   string // a directory with copies of operands, which it may read, or empty
}

// Net describes the permissions of a sandboxed command on the network. The zero value permits nothing.
type Net struct {
	All   bool
	Ports []uint16 // TCP connections to them
}

// Empty reports whether the configuration of s permits nothing.
func (s Sandbox) Empty() bool {
	return len(s.Write)+len(s.Read)+len(s.Creds)+len(s.Cache)+len(s.Net.Ports)+len(s.Env) == 0 && !s.Net.All
}

// String describes what s permits, or returns "" for the zero value.
func (s Sandbox) String() string {
	var words []string
	for _, list := range []struct {
		name   string
		values []string
	}{{"write", s.Write}, {"read", s.Read}, {"creds", s.Creds}, {"cache", s.Cache}, {"env", s.Env}} {
		if len(list.values) > 0 {
			words = append(words, list.name+" "+strings.Join(list.values, " "))
		}
	}
	switch {
	case s.Net.All:
		words = append(words, "net all")
	case len(s.Net.Ports) > 0:
		words = append(words, "net "+strings.Trim(fmt.Sprint(s.Net.Ports), "[]"))
	}
	return strings.Join(words, ", ")
}

// SandboxWrites returns the paths that commands in sandboxes may write, in addition to the container's directories.
func (p *Policy) SandboxWrites() (list []string) {
	if p == nil {
		return nil
	}
	for _, set := range p.Rules {
		list = append(list, set.Sandbox.Write...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
