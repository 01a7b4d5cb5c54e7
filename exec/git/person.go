// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// configList has git list its whole configuration. It runs nothing.
var configList = []string{"config", "--list", "--includes", "--show-scope", "--show-origin", "-z"}

func errUnknownList(cwd string, err error) error {
	return &Problem{Reason: fmt.Sprintf("git lists the configuration of %s in an unknown way: %v", cwd, err)}
}

// host checks where a command may go from a repository that the host names.
func (c *Check) host(ctx context.Context, line commandLine) error {
	list, err := c.ask(ctx, line, c.Dir, maxConfig, configList...)
	if err != nil {
		return &Problem{Reason: fmt.Sprintf("git cannot tell its configuration: %v", err)}
	}
	cfg, err := parseConfig(list)
	if err != nil {
		return errUnknownList(c.Cwd, err)
	}
	return c.submodules(ctx, line, cfg, c.Dir, c.Cwd, &budget{left: maxSubmodules})
}

// person checks what of the person's a container may have a say in: the variables that lead
// git elsewhere, and the files in which git looks for configuration, which may not be there.
func (c *Check) person() error {
	for _, name := range []string{"GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE"} {
		if c.env(name) != "" {
			return &Problem{Reason: name + " leads git to another repository"}
		}
	}
	home, xdg := c.env("HOME"), c.env("XDG_CONFIG_HOME")
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

// env returns a variable of the command, or nothing.
func (c *Check) env(name string) string {
	for _, kv := range c.Env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}
