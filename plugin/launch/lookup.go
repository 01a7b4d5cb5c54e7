// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// ResolveCommands finds the host's program of each command, except for denied commands and commands that do not run on
// the host.
func ResolveCommands(commands []state.Command, path string, elsewhere func(state.Command) bool) error {
	for i, c := range commands {
		if c.Action == "deny" || elsewhere(c) {
			continue
		}
		p, err := findProgram(c, path)
		if err != nil {
			return err
		}
		commands[i].Path, commands[i].Found = p, c.Path == ""
	}
	return nil
}

func findProgram(c state.Command, path string) (string, error) {
	if c.Path != "" {
		if err := osenv.CheckProgram(c.Path); err != nil {
			return "", fmt.Errorf("command %s: %s: %w", c.Name, c.Path, err)
		}
		return c.Path, nil
	}
	program := c.Name
	if program == policy.GitPush {
		program = "git"
	}
	if p, ok := osenv.LookPath(program, path); ok {
		return p, nil
	}
	return "", cli.Hint(fmt.Errorf("command '%s' not found in PATH", program),
		fmt.Sprintf("install it on this host, or name its place: --proxy %s=/path/to/%s", c.Name, program))
}

// needsPrivs returns the reason why a program must gain privileges, or "".
func needsPrivs(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	fi, err := os.Stat(real)
	switch {
	case err != nil:
		return ""
	case fi.Mode()&os.ModeSetuid != 0:
		return "is setuid"
	case fi.Mode()&os.ModeSetgid != 0:
		return "is setgid"
	case hasFileCaps(real):
		return "has file capabilities"
	case filepath.Base(real) == "snap" || strings.HasPrefix(real, "/snap/"):
		return "is a snap"
	}
	return ""
}
