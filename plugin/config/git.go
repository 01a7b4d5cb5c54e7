// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"

	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/gitpush"
)

// Git configures the remotes that containers reach by --proxy git-push.
type Git struct {
	Remotes gitpush.Remotes
	MaxPack int64 // bytes that a push may send; 0: the program's default
}

func (d *document) readGit(n *yaml.Node) {
	d.fields(n, "git", map[string]func(*yaml.Node){
		"max_pack": scalar(d.reader, "max_pack", &d.git.MaxPack, parsePositiveSize),
		"remotes": func(n *yaml.Node) {
			d.git.Remotes = gitpush.Remotes{}
			d.each(n, "remotes", func(key, value *yaml.Node) {
				if err := gitpush.CheckName(key.Value); err != nil {
					d.fail(key, "git: remotes: %v", err)
				} else if url, ok := d.scalar(value, key.Value); !ok {
					return
				} else if err := gitpush.CheckURL(url); err != nil {
					d.fail(value, "git: remotes: %s: %v", key.Value, err)
				} else {
					d.git.Remotes[key.Value] = url
				}
			})
		},
	})
}

// git merges the git section of d. A project's remote replaces the global one of the same name.
func (c *Config) git(d *document) {
	remotes := gitpush.Remotes{}
	maps.Copy(remotes, c.Git.Remotes)
	maps.Copy(remotes, d.git.Remotes)
	c.Git.Remotes = remotes
	if d.git.MaxPack > 0 {
		c.Git.MaxPack = d.git.MaxPack
	}
}
