// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/config"
)

// CompleteCommand completes this host's commands, and then file names for their arguments.
func CompleteCommand(_ *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return commandsIn(os.Getenv("PATH"), typed), cobra.ShellCompDirectiveNoFileComp
}

// CompleteProxy completes this host's commands, and then actions.
func CompleteProxy(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if name, _, given := strings.Cut(typed, "="); given {
		return []string{name + "=allow", name + "=ask", name + "=deny"}, cobra.ShellCompDirectiveNoFileComp
	}
	return commandsIn(os.Getenv("PATH"), typed), cobra.ShellCompDirectiveNoFileComp
}

// commandsIn returns the names of the programs in path that begin with prefix.
func commandsIn(path, prefix string) []string {
	var names []string
	seen := make(map[string]bool)
	for dir := range osenv.Dirs(path) {
		entries, _ := os.ReadDir(dir) // PATH may name missing directories
		for _, e := range entries {
			name := e.Name()
			if seen[name] || !strings.HasPrefix(name, prefix) || config.CheckName(name) != nil {
				continue
			}
			if _, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}
