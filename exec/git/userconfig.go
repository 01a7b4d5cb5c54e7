// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"fmt"
	"path"

	"github.com/docker-hostexec/hostexec/exec/osenv"
)

// configList are the git arguments that list the whole configuration. They start no program.
var configList = []string{"config", "--list", "--includes", "--show-scope", "--show-origin", "-z"}

func errUnknownList(cwd string, err error) error {
	return &Problem{Reason: fmt.Sprintf("git lists the configuration of %s in an unknown way: %v", cwd, err)}
}

// checkHost checks which repositories a command may enter from a repository that the host names.
func (c *Check) checkHost(ctx context.Context, line commandLine) error {
	list, err := c.ask(ctx, line, c.Dir, maxConfig, configList...)
	if err != nil {
		return &Problem{Reason: fmt.Sprintf("git cannot list its configuration: %v", err)}
	}
	cfg, err := parseConfig(list)
	if err != nil {
		return errUnknownList(c.Cwd, err)
	}
	return c.submodules(ctx, line, cfg, c.Dir, c.Cwd, &budget{left: maxSubmodules})
}

// checkUserConfig checks the parts of the user's environment that a container may control. These are
// variables that select another repository, and the configuration files of the user, which may not
// exist yet.
func (c *Check) checkUserConfig() error {
	for _, name := range []string{"GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE"} {
		if osenv.Get(c.Env, name) != "" {
			return &Problem{Reason: name + " leads git to another repository"}
		}
	}
	home, xdg := osenv.Get(c.Env, "HOME"), osenv.Get(c.Env, "XDG_CONFIG_HOME")
	if xdg == "" && home != "" {
		xdg = path.Join(home, ".config")
	}
	for dir, name := range map[string]string{home: ".gitconfig", xdg: "git/config"} {
		if dir != "" && c.Mounts.Writable(path.Join(dir, name)) {
			return writableConfig(path.Join(dir, name))
		}
	}
	return nil
}
