// SPDX-License-Identifier: Apache-2.0

package with

import (
	"maps"
	"os"
	"slices"

	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// CompleteServices returns the completion of --service: the services of the configuration, and those of the engine's
// containers.
func CompleteServices(dockerCLI command.Cli) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		services := configured()
		list, err := dockerCLI.Client().ContainerList(cmd.Context(), container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", state.LabelService))})
		if err != nil {
			return services, cobra.ShellCompDirectiveNoFileComp
		}
		for _, c := range list {
			services = append(services, c.Labels[state.LabelService])
		}
		slices.Sort(services)
		return slices.Compact(services), cobra.ShellCompDirectiveNoFileComp
	}
}

// configured returns the services of the configuration for the current directory.
func configured() []string {
	dir, err := os.Getwd()
	if err != nil {
		return nil
	}
	home, err := state.Home()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Load(config.Source{Store: home, Project: dir, Workspace: dir}).Services))
}
