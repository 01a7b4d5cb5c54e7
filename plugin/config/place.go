// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

var (
	// imageForm matches all names that the engine could accept. The engine checks them.
	imageForm   = names.Form{First: "A-Za-z0-9", Chars: "A-Za-z0-9._/:@+-", Min: 1, Max: 255}
	networkForm = names.Form{First: "A-Za-z0-9", Chars: "A-Za-z0-9_.:-", Min: 1, Max: 128}
	// engineForm matches only characters that need no quotes in a shell, because messages show command
	// lines with the address.
	engineForm = names.Form{Chars: "A-Za-z0-9._/:@%+-", Min: 1, Max: 250}
)

// ParsePlace parses the place where a command runs: host, sandbox, or container:IMAGE.
func ParsePlace(s string) (policy.Place, error) {
	image, contained := strings.CutPrefix(s, "container:")
	switch {
	case s == "host":
		return policy.Place{}, nil
	case s == "sandbox":
		return policy.Place{Sandboxed: true}, nil
	case s == "checkout":
		return policy.Place{}, errors.New("checkout is not supported yet: host, sandbox or container:IMAGE")
	case !contained:
		return policy.Place{}, fmt.Errorf("%s is none of host, sandbox and container:IMAGE", names.Quoted(s))
	case image == "":
		return policy.Place{}, errors.New("no image named: container:IMAGE")
	case !imageForm.Matches(image):
		return policy.Place{}, fmt.Errorf("%s cannot be the name of an image", names.Quoted(image))
	}
	return policy.Place{Image: image}, nil
}

func isEngine(host string) bool {
	for _, scheme := range []string{"unix:///", "tcp://", "ssh://"} {
		if rest, ok := strings.CutPrefix(host, scheme); ok {
			return engineForm.Matches(rest)
		}
	}
	return false
}

// placeKeys are the keys that setPlaceKey accepts.
var placeKeys = []string{"docker_host", "network", "memory", "cpus", "pids"}

// setPlaceKey sets a value of the container section: its engine, its network, or a limit. It reports whether key is one
// of placeKeys.
func setPlaceKey(p *policy.Place, key, value string) (known bool, err error) {
	switch key {
	case "docker_host":
		if !isEngine(value) {
			return true, fmt.Errorf("%s is not an engine's address: unix:///path/to/docker.sock, tcp://HOST:PORT or ssh://USER@HOST", names.Quoted(value))
		}
		p.DockerHost = value
	case "network":
		switch {
		case value == "host":
			return true, errors.New("with network host, the container could reach services that listen on this host only: name another network")
		case !networkForm.Matches(value):
			return true, fmt.Errorf("%s cannot be a network", names.Quoted(value))
		}
		p.Network = value
	case "memory":
		p.Memory, err = size(value)
	case "cpus":
		p.CPUs, err = cpus(value)
	case "pids":
		p.Pids, err = strconv.ParseInt(value, 10, 32)
		if err != nil || p.Pids < 1 {
			err = fmt.Errorf("%s is not a number of processes", names.Quoted(value))
		}
	default:
		return false, nil
	}
	return true, err
}

// cpus parses a number of CPUs such as 1.5, in units of 1e-9 CPU.
func cpus(s string) (int64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0.001 && f <= 1<<20) {
		return 0, fmt.Errorf("%s is not a number of CPUs such as 1.5", names.Quoted(s))
	}
	return int64(math.Round(f * 1e9)), nil
}

// container reads the container section of a command.
func (d *document) container(p *policy.Place) func(*yaml.Node) {
	return func(n *yaml.Node) {
		known := map[string]func(*yaml.Node){}
		for _, key := range placeKeys {
			known[key] = func(n *yaml.Node) {
				if w, ok := d.scalar(n, key); ok {
					if _, err := setPlaceKey(p, key, w); err != nil {
						d.fail(n, "%s: %v", key, err)
					}
				}
			}
		}
		d.fields(n, "container", known)
	}
}

// setPlace checks and sets the place where a command runs.
func (d *document) setPlace(key *yaml.Node, set *policy.Ruleset, where, limits policy.Place) {
	switch {
	case key.Value == policy.Shell && (where.InContainer() || limits != policy.Place{}):
		d.fail(key, "%s takes neither where nor container: for a shell in a container, use hostexec session create --in CONTAINER", key.Value)
	case key.Value == policy.GitPush && (where.Confined() || limits != policy.Place{}):
		d.fail(key, "%s takes neither where nor container", key.Value)
	case !where.InContainer() && limits != policy.Place{}:
		d.fail(key, "container: %s runs on the host: it needs where: container:IMAGE", key.Value)
	case where.InContainer() && set.SHA256 != "":
		d.fail(key, "sha256: the program is in the image: pin the image by its digest, container:IMAGE@sha256:...")
	case where.InContainer() && !set.Sandbox.Empty():
		d.fail(key, "sandbox: %s runs in a container: remove sandbox or where", key.Value)
	case where.Sandboxed && set.Settings.NewPrivs != nil && *set.Settings.NewPrivs:
		d.fail(key, "new_privs: no program gains privileges in a sandbox: remove new_privs or where: sandbox")
	}
	for _, r := range set.Rules {
		if len(r.Preview) > 0 && (where.InContainer() || key.Value == policy.Shell || key.Value == policy.GitPush) {
			d.fail(key, "rule %s: preview is only for programs on the host, not for %s", r.ID, notPreviewed(key.Value, where))
		}
	}
	limits.Image, limits.Sandboxed = where.Image, where.Sandboxed
	set.Place = limits
}

// notPreviewed names a command without previews, for a message.
func notPreviewed(name string, where policy.Place) string {
	if where.InContainer() {
		return "where: container"
	}
	return name
}
