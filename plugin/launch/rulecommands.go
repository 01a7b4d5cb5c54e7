// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"path"
	"path/filepath"
	"slices"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/inject"
)

// Only rules of the configuration allow a rule command, and no --proxy. The container can call it by name if it has no
// program of that name.

// ruleCommands returns the names of the rule commands that have a program in search, a PATH of this host.
func (p *Plan) ruleCommands(search string) (names []string) {
	rules := p.Config.Policy(nil)
	for _, name := range rules.Names() {
		set := rules.Rules[name]
		switch {
		case name == policy.Shell, name == policy.GitPush, name == inject.Shim, slices.Contains(p.Record.Names(), name):
		case !slices.ContainsFunc(set.Rules, func(r policy.Rule) bool { return r.Do != policy.Deny }):
		case set.Exec != "", set.Place.InContainer():
			names = append(names, name)
		default:
			if _, ok := osenv.LookPath(name, search); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// searchDirs returns the directories in which a container's programs look for commands: those of its PATH, and of the
// PATH of login shells.
func searchDirs(env []string) []string {
	dirs := append(filepath.SplitList(pathOf(env)), filepath.SplitList(inject.DefaultPath)...)
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !path.IsAbs(dir) || names.Within(dir, inject.Target) })
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// candidatePaths returns the paths at which a container could have a program called name.
func candidatePaths(dirs []string, name string) (list []string) {
	for _, dir := range dirs {
		list = append(list, path.Join(dir, name))
	}
	return list
}

// namesWithoutProgram returns the names for which a container has no program.
func namesWithoutProgram(stat statFunc, c container.InspectResponse, names []string) (free []string, err error) {
	dirs := searchDirs(c.Config.Env)
	var paths []string
	for _, name := range names {
		paths = append(paths, candidatePaths(dirs, name)...)
	}
	found, err := stat(paths)
	if err != nil {
		return nil, err
	}
	taken := func(p string) bool { return !inject.Linkable(found[p].Exists, found[p].Link) }
	for _, name := range names {
		if !slices.ContainsFunc(candidatePaths(dirs, name), taken) {
			free = append(free, name)
		}
	}
	return free, nil
}
