// SPDX-License-Identifier: Apache-2.0

// Package policy has the verb policy, which shows, checks and changes what containers may request. It also has the verb
// trust, which accepts the configuration that a workspace proposes.
package policy

import (
	"fmt"
	"os"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const policyLong = `Show, check and change what containers may request

The configuration has up to three files:
  config.yaml         in the state directory, such as ~/.docker/hostexec: for all projects
  projects/NAME.yaml  in the state directory: for the project in a directory called NAME
  .hostexec.yaml      in the workspace: has no effect until docker hostexec trust accepts it

The current directory determines the project and the workspace.

EXIT STATUS
  0  it succeeded
  1  it failed`

// NewCommand returns the verb policy. checkAgent returns the problems of the agent section.
func NewCommand(dockerCLI command.Cli, checkAgent func(*state.Store, config.Agent) []policy.Problem) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "policy",
		Short:   "Show, check and change what containers may request",
		Long:    policyLong,
		Example: "  docker hostexec policy init --write git\n  docker hostexec policy explain -- git push origin main",
		Args:    cli.NoArgs,
		RunE:    command.ShowHelp(dockerCLI.Err()),
	}
	cmd.AddCommand(
		newPolicyLsCommand(dockerCLI),
		newPolicyCheckCommand(dockerCLI, checkAgent),
		newPolicyTestCommand(dockerCLI),
		newPolicyExplainCommand(dockerCLI),
		announced(newPolicyAddCommand(dockerCLI)),
		announced(newPolicyRmCommand(dockerCLI)),
		announced(newPolicyInitCommand(dockerCLI)),
		newPolicyReplayCommand(dockerCLI),
		announced(newPolicyLearnCommand(dockerCLI)),
	)
	return cmd
}

// currentSource opens the store and returns the source of the current directory's configuration.
func currentSource() (*state.Store, config.Source, error) {
	store, err := state.Open()
	if err != nil {
		return nil, config.Source{}, err
	}
	src, err := sourceIn(store)
	return store, src, err
}

// sourceIn returns the source of the current directory's configuration.
func sourceIn(store *state.Store) (config.Source, error) {
	dir, err := os.Getwd()
	if err != nil {
		return config.Source{}, fmt.Errorf("find the current directory: %w", err)
	}
	real, err := cli.Directory(dir)
	return config.Source{Store: store.Home, Project: dir, Workspace: real}, err
}

// loadCurrent returns the current directory's configuration. It reports the parts that are not used.
func loadCurrent(dockerCLI command.Cli) (config.Source, *config.Config, error) {
	_, src, err := currentSource()
	if err != nil {
		return src, nil, err
	}
	c := config.Load(src)
	for _, w := range c.Warnings {
		cli.Say(dockerCLI.Err(), "warning: %s", names.Escaped(w))
	}
	return src, c, nil
}

// configError returns an error if the configuration denies everything because of an error.
func configError(c *config.Config) error {
	if c.Err == nil {
		return nil
	}
	return cli.Hint(fmt.Errorf("the configuration is broken, and all requests are denied: %s", names.Escaped(c.Err.Error())), "docker hostexec policy check")
}

// targetFile returns the file that add, init and learn change.
func targetFile(src config.Source, project bool) (string, error) {
	if !project {
		return src.GlobalFile(), nil
	}
	if file := src.ProjectFile(); file != "" {
		return file, nil
	}
	return "", fmt.Errorf("the name of %s cannot be that of a project", names.Quoted(src.Project))
}
