// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const trustLong = `Accept the configuration that a workspace proposes: its .hostexec.yaml

trust first shows the file, and the findings of policy check. The file is trusted with its
current path and content. If anybody changes or moves it, it has no effect until you trust it
again. It can add rules, patterns, proxied commands (proxies:), and services (docker hostexec
with). It cannot change the host's configuration.

EXIT STATUS
  0  the file is trusted; with --revoke: its trust was removed
  1  there is no such file, it is broken, you did not confirm, or --revoke found no trust`

// NewTrustCommand returns the verb trust.
func NewTrustCommand(dockerCLI command.Cli) *cobra.Command {
	var revoke, force bool
	cmd := &cobra.Command{
		Use:     "trust [OPTIONS] [DIRECTORY]",
		Short:   "Accept the configuration that a workspace proposes",
		Long:    trustLong,
		Example: "  docker hostexec trust\n  docker hostexec trust --revoke ~/src/app",
		Args:    dockercli.RequiresMaxArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) error {
			src, err := workspaceOf(append(args, ".")[0])
			if err != nil {
				return err
			}
			if revoke {
				return revokeTrust(dockerCLI, src)
			}
			return trust(cmd.Context(), dockerCLI, src, force)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&revoke, "revoke", false, "Do not trust it any more")
	flags.BoolVarP(&force, "force", "f", false, "Do not ask")
	return announced(cmd)
}

func workspaceOf(dir string) (config.Source, error) {
	store, err := state.Open()
	if err != nil {
		return config.Source{}, err
	}
	real, err := cli.Directory(dir)
	return config.Source{Store: store.Home, Project: real, Workspace: real}, err
}

func trust(ctx context.Context, dockerCLI command.Cli, src config.Source, force bool) error {
	path, content, digest, err := config.ReadProposal(src)
	if errors.Is(err, config.ErrNoProposal) {
		return fmt.Errorf("%s has no .hostexec.yaml", names.Escaped(src.Workspace))
	}
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(content), "\n"), "\n") {
		fmt.Fprintln(dockerCLI.Out(), names.Escaped(line))
	}
	fmt.Fprintln(dockerCLI.Out())
	writeProblems(names.ASCIIWriter(dockerCLI.Out()), config.Review(path, content))
	if err := config.CheckAcceptable(src, path, content); err != nil {
		return err
	}
	if !force {
		yes, err := cli.Confirm(ctx, dockerCLI,
			fmt.Sprintf("This lets containers that work in %s request the above.\nAre you sure you want to continue?", names.Escaped(src.Workspace)))
		if err != nil || !yes {
			return errors.Join(err, errors.New("not trusted"))
		}
	}
	if err := config.Trust(src, digest); err != nil {
		return err
	}
	fmt.Fprintln(dockerCLI.Out(), names.Escaped(path))
	return nil
}

func revokeTrust(dockerCLI command.Cli, src config.Source) error {
	any, err := config.Distrust(src)
	switch {
	case err != nil:
		return err
	case !any:
		return fmt.Errorf("%s was not trusted", names.Escaped(src.ProposalFile()))
	}
	fmt.Fprintln(dockerCLI.Out(), names.Escaped(src.ProposalFile()))
	return nil
}
