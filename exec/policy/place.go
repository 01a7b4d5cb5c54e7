// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// Place is where a command runs. The zero value is the host.
type Place struct {
	Sandboxed  bool   // on the host, confined as Verdict.Sandbox says; Image is empty
	Image      string // image of the container that is created for the call; empty: the host
	DockerHost string // address of the engine that creates it, as in DOCKER_HOST; empty: the session's engine
	Network    string // the network, as the engine names it; empty: the engine's default
	Memory     int64  // bytes; 0: no limit
	CPUs       int64  // billionths of a CPU; 0: no limit
	Pids       int64  // processes and threads; 0: 4096, the default of plugin/callcontainer
}

// InContainer reports whether p is a container rather than the host.
func (p Place) InContainer() bool { return p.Image != "" }

// Confined reports whether code that the container wrote cannot reach the host's own files: p is a
// container or a sandbox.
func (p Place) Confined() bool { return p.InContainer() || p.Sandboxed }

// String returns p in the syntax of --proxy, without the network and the limits.
func (p Place) String() string {
	switch {
	case p.Sandboxed:
		return "sandbox"
	case !p.InContainer():
		return "host"
	case p.DockerHost != "":
		return "container:" + p.Image + ",docker_host=" + p.DockerHost
	}
	return "container:" + p.Image
}

// Limits describes the engine, network and limits of p in words. It omits those that are not set.
func (p Place) Limits() string {
	var words []string
	if p.DockerHost != "" {
		words = append(words, "docker_host "+p.DockerHost)
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

// Place returns the place where the command called name runs. --proxy takes precedence over the
// configuration. The place is the same however the command is allowed.
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

// Program describes v's program for people: its path on the host, or the place, and the path there if it is given. For
// a shell in another container, it is bash.
func (v *Verdict) Program() string {
	if !v.Place.Confined() {
		return v.Command.Path
	}
	if v.Command.Path == "" {
		return v.Place.String()
	}
	return v.Place.String() + " " + v.Command.Path
}
