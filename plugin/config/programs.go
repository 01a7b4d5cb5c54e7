// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// resolvePrograms sets p.Programs: the programs that the commands resolve to on this host. A name such as mk may
// be a link to make. It runs before decisions, so that a decision opens no file.
func (c *Config) resolvePrograms(p *policy.Policy) {
	p.Programs = map[string][]string{}
	add := func(name, path string) {
		if name == policy.GitPush { // its arguments are not git's
			return
		}
		if path == "" {
			path, _ = osenv.LookPath(name, os.Getenv("PATH"))
		}
		if path != "" && name != policy.Shell && !p.Place(name).InContainer() {
			for _, at := range hostcode.LinkChain(path) {
				p.Programs[name] = append(p.Programs[name], filepath.Base(at))
			}
		}
	}
	for _, cmd := range p.Commands {
		add(cmd.Name, cmd.Path)
	}
	for name, set := range p.Rules {
		add(name, set.Exec)
	}
	for _, list := range [][]policy.LinePattern{p.Auto, p.Manual} {
		for _, pattern := range list {
			if name := pattern.Command(); p.Programs[name] == nil && policy.ValidName(name) {
				add(name, "")
			}
		}
	}
}
