// SPDX-License-Identifier: Apache-2.0

package container

import (
	"os"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/plugin/config"
)

// objection is what hostexec does about a mount that shows a protected file.
type objection int

const (
	refuse         objection = iota // the mount, read-only or not
	refuseWritable                  // a mount that can be written
	warnWritable                    // the same, but it is the person's choice
)

// protected is a file or directory of this host that decides what runs on it.
type protected struct {
	path    string
	does    string // completes: path, which ...
	against objection
	instead string // what to do other than to mount read-only
}

const narrower = "something narrower"

// protected lists all of them. Only hostexec's own state, policy and programs are refused:
// everything else that a person mounts is that person's choice.
func (mc *mountCheck) protected() (all []protected) {
	all = append(all, protected{mc.record.Store.Home, "is hostexec's own state", refuse, ""})
	for _, cmd := range mc.record.Proxied() {
		if cmd.Path == "" || cmd.Where != nil && cmd.Where.Image != "" {
			continue // it is denied, or its path is the image's
		}
		all = append(all, protected{cmd.Path, "--proxy " + cmd.Name + " runs", refuseWritable, "proxy a program outside of it"})
	}
	for _, path := range mc.notifier.Programs() {
		all = append(all, protected{path, "tells you that requests wait", refuseWritable, narrower})
	}
	if exe, err := os.Executable(); err == nil {
		all = append(all, protected{exe, "is hostexec itself", refuseWritable, narrower})
	}
	if c := mc.config.Current(); c != nil {
		proposal := config.Source{Workspace: mc.record.Workspace}.ProposalFile() // which is pinned
		for _, path := range c.Files() {
			if path != proposal {
				all = append(all, protected{path, "says what it may run", refuseWritable, narrower})
			}
		}
	}
	if mc.record.Agent != nil && mc.record.Agent.Config != "" {
		all = append(all, protected{mc.record.Agent.Config, "says what agent runs, and whether on this host", refuseWritable, "move that file out of it"})
	}
	return append(all, personal()...)
}

// systemPlugins are where docker looks for its plugins, after the user's own directory.
var systemPlugins = []string{"/usr/local/lib/docker/cli-plugins", "/usr/local/libexec/docker/cli-plugins", "/usr/lib/docker/cli-plugins", "/usr/libexec/docker/cli-plugins"}

// personal are the files that docker and ssh take their programs from.
func personal() (all []protected) {
	const plugin, starts = "docker-hostexec", "docker starts as hostexec"
	for _, dir := range systemPlugins {
		all = append(all, protected{filepath.Join(dir, plugin), starts, refuseWritable, narrower})
	}
	home, err := os.UserHomeDir()
	docker := os.Getenv("DOCKER_CONFIG")
	if docker == "" && err == nil {
		docker = filepath.Join(home, ".docker")
	}
	if filepath.IsAbs(docker) {
		all = append(all,
			protected{filepath.Join(docker, "cli-plugins", plugin), starts, refuseWritable, narrower},
			protected{filepath.Join(docker, "config.json"), "names programs that docker starts as you", warnWritable, ""})
	}
	if err == nil {
		all = append(all, protected{filepath.Join(home, ".ssh"), "says who logs in as you, and what ssh starts", warnWritable, ""})
	}
	return all
}
