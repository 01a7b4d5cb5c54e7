// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"os"

	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// The functions below are called before a session exists. They find the variables that it would remove from the
// environment, and the files of the configuration that its container could write.

// containerAccess returns the directories that containers can probably write: those of all sessions, and the current
// directory. The current directory is left out if run would refuse to mount it, or if it contains the home
// directory.
func containerAccess(store *state.Store, workspace string) (*mount.Table, error) {
	var mounts []mount.Point
	host, err := mount.ReadHostMounts()
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if !host.Overlap(workspace, store.Home) && (err != nil || !host.Resolve(home).Through(host.Locate(workspace))) {
		mounts = append(mounts, mount.Point{Source: workspace})
	}
	return sessionAccess(store, mounts)
}

// sessionAccess returns the directories that the containers of sessions can write, and mounts.
func sessionAccess(store *state.Store, mounts []mount.Point) (*mount.Table, error) {
	writes, err := store.WritableByOthers("")
	for _, source := range writes.All() {
		mounts = append(mounts, mount.Point{Source: source})
	}
	table, terr := mount.NewTable(mounts, mount.Default{})
	if err == nil {
		err = terr
	}
	return table, err
}

// ContainersWrite reports whether the container of any session can write dir.
func ContainersWrite(store *state.Store, dir string) (bool, error) {
	table, err := sessionAccess(store, nil)
	if err != nil {
		return false, err
	}
	defer table.Close()
	return table.Writable(dir), nil
}

// WritableCode lists the code and settings that containers can probably write, and that this environment and the
// configuration name. No finding is fatal.
func WritableCode(store *state.Store, src config.Source) ([]policy.Problem, error) {
	access, err := containerAccess(store, src.Workspace)
	if err != nil {
		return nil, err
	}
	all := watch.WritableCode(config.Load(src).Policy(nil), os.Environ(), access)
	for _, f := range hostcode.Links(os.Getenv("PATH"), access) {
		all = append(all, policy.Problem{Text: f.String()})
	}
	return all, nil
}
