// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// Place is where a command runs. Its zero value is the host.
type Place struct {
	Image   string // of a container that is made for the one call; empty: the host
	Host    string // the engine that makes it, as DOCKER_HOST names one; empty: the session's
	Network string // its network, in the engine's words; empty: the engine's default
	Memory  int64  // bytes; 0: no limit
	CPUs    int64  // billionths of one; 0: no limit
	Pids    int64  // processes and threads; 0: as many as any container gets
}

// Contained reports whether it is not the host.
func (p Place) Contained() bool { return p.Image != "" }

// String is p as --proxy writes it, without the network and the limits.
func (p Place) String() string {
	switch {
	case !p.Contained():
		return "host"
	case p.Host != "":
		return "container:" + p.Image + ",docker_host=" + p.Host
	}
	return "container:" + p.Image
}

// Limits are p's engine, network and limits in words; empty where nothing is said of them.
func (p Place) Limits() string {
	var words []string
	if p.Host != "" {
		words = append(words, "docker_host "+p.Host)
	}
	if p.Network != "" {
		words = append(words, "network "+p.Network)
	}
	if p.Memory > 0 {
		words = append(words, fmt.Sprintf("memory %d bytes", p.Memory))
	}
	if p.CPUs > 0 {
		words = append(words, "cpus "+strconv.FormatFloat(float64(p.CPUs)/1e9, 'f', -1, 64))
	}
	if p.Pids > 0 {
		words = append(words, fmt.Sprintf("pids %d", p.Pids))
	}
	return strings.Join(words, ", ")
}

// Place is where the command called name runs: where --proxy says, or else the
// configuration. It is that however the command is allowed, rules or not.
func (p *Policy) Place(name string) Place {
	if c, ok := p.Lookup(name); ok && c.Placed {
		return c.Place
	}
	return p.Rules[name].Place
}

func (d *decision) place() Place {
	if d.c.Placed {
		return d.c.Place
	}
	return d.set.Place
}

// Program is what v runs, for people: a path on the host, or a place and a name there.
func (v Verdict) Program() string {
	if !v.Place.Contained() {
		return v.Command.Path
	}
	if v.Command.Path == "" {
		return v.Place.String()
	}
	return v.Place.String() + " " + v.Command.Path
}
