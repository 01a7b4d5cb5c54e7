// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"os"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/notify"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// MountAction is the reaction to a mount that shows a protected file.
type MountAction int

const (
	Refuse         MountAction = iota // refuse the mount, even if it is read-only
	RefuseWritable                    // refuse a writable mount
	WarnWritable                      // warn of a writable mount, which is the person's choice
)

// ProtectedFile is a file or directory of this host that decides which code runs on it.
type ProtectedFile struct {
	Path    string
	Does    string // completes: path, which ...
	OnMount MountAction
	Instead string // advice, as an alternative to a read-only mount
}

// Narrower is advice to mount a smaller directory, without the protected file.
const Narrower = "something narrower"

// ProtectedFiles lists the protected files of a session. Mounts of hostexec's state are refused. Writable mounts of
// docker's config.json and of ~/.ssh cause a warning, and those of all other protected files are refused.
func ProtectedFiles(record *Record, settings *Configuration, notifier notify.Notifier) (all []ProtectedFile) {
	all = append(all, ProtectedFile{record.Store.Home, "is hostexec's own state", Refuse, ""})
	for _, cmd := range record.Session().Proxied() {
		if runsHere(cmd) {
			all = append(all, ProtectedFile{cmd.Path, "--proxy " + cmd.Name + " runs", RefuseWritable, "proxy a program outside of it"})
		}
	}
	return append(all, decidingFiles(record, settings, notifier)...)
}

// decidingFiles lists the protected files of a session that are neither state nor programs of --proxy.
func decidingFiles(record *Record, settings *Configuration, notifier notify.Notifier) (all []ProtectedFile) {
	for _, path := range notifier.Programs() {
		all = append(all, ProtectedFile{path, "notifies you of requests", RefuseWritable, Narrower})
	}
	if exe, err := os.Executable(); err == nil {
		all = append(all, ProtectedFile{exe, "is hostexec itself", RefuseWritable, Narrower})
	}
	if c := settings.Current(); c != nil {
		proposal := config.Source{Workspace: record.Session().Workspace}.ProposalFile()
		for _, path := range c.Files() {
			if path != proposal { // a changed proposal must be trusted again
				all = append(all, ProtectedFile{path, "says what it may run", RefuseWritable, Narrower})
			}
		}
	}
	if agent := record.Session().Agent; agent != nil && agent.Config != "" {
		all = append(all, ProtectedFile{agent.Config, "says what agent runs, and whether on this host", RefuseWritable, "move that file out of it"})
	}
	return append(all, userFiles()...)
}

// runsHere reports whether a command runs a program of this host, and not of an image.
func runsHere(cmd state.Command) bool {
	return cmd.Path != "" && (cmd.Where == nil || cmd.Where.Image == "")
}

// systemPlugins are the directories where docker looks for its plugins, after the user's own.
var systemPlugins = []string{"/usr/local/lib/docker/cli-plugins", "/usr/local/libexec/docker/cli-plugins", "/usr/lib/docker/cli-plugins", "/usr/libexec/docker/cli-plugins"}

// userFiles lists the files from which docker and ssh take programs.
func userFiles() (all []ProtectedFile) {
	const plugin, starts = "docker-hostexec", "docker starts as hostexec"
	for _, dir := range systemPlugins {
		all = append(all, ProtectedFile{filepath.Join(dir, plugin), starts, RefuseWritable, Narrower})
	}
	home, err := os.UserHomeDir()
	docker := os.Getenv("DOCKER_CONFIG")
	if docker == "" && err == nil {
		docker = filepath.Join(home, ".docker")
	}
	if filepath.IsAbs(docker) {
		all = append(all,
			ProtectedFile{filepath.Join(docker, "cli-plugins", plugin), starts, RefuseWritable, Narrower},
			ProtectedFile{filepath.Join(docker, "config.json"), "names programs that docker starts as you", WarnWritable, ""})
	}
	if err == nil {
		all = append(all, ProtectedFile{filepath.Join(home, ".ssh"), "says who logs in as you, and what ssh starts", WarnWritable, ""})
	}
	return all
}
