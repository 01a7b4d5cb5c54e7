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

// CompleteCommand offers this host's commands, and then files, which may be its arguments.
func CompleteCommand(_ *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return commandsIn(os.Getenv("PATH"), typed), cobra.ShellCompDirectiveNoFileComp
}

// CompleteProxy offers this host's commands, then what can be done with one.
func CompleteProxy(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if name, _, given := strings.Cut(typed, "="); given {
		return []string{name + "=allow", name + "=ask", name + "=deny"}, cobra.ShellCompDirectiveNoFileComp
	}
	return commandsIn(os.Getenv("PATH"), typed), cobra.ShellCompDirectiveNoFileComp
}

// commandsIn lists the names of path's programs that begin with prefix, for completion.
func commandsIn(path, prefix string) []string {
	var names []string
	seen := make(map[string]bool)
	for dir := range osenv.Dirs(path) {
		entries, _ := os.ReadDir(dir) // PATH may name what is not there
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
