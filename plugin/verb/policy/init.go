// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"os"
	"text/tabwriter"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
)

const policyInitLong = `Show or write a preset: an example configuration

Without PRESET, init lists the presets. With PRESET, it prints that preset, with the path of
the program on this host. --write adds the preset to config.yaml or, with --project, to the
file of this directory's project. If the file has a key of the preset already, nothing is
written.

EXIT STATUS
  0  the preset was shown or written
  1  there is no such preset, or it could not be written`

func newPolicyInitCommand(dockerCLI command.Cli) *cobra.Command {
	var write, project bool
	cmd := &cobra.Command{
		Use:     "init [OPTIONS] [PRESET]",
		Short:   "Show or write an example configuration",
		Long:    policyInitLong,
		Example: "  docker hostexec policy init\n  docker hostexec policy init git\n  docker hostexec policy init --write git",
		Args:    dockercli.RequiresMaxArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
			for _, p := range config.Presets() {
				names = append(names, p.Name+"\t"+p.Title)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: cli.Verb(func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listPresets(dockerCLI)
			}
			preset, err := config.FindPreset(args[0])
			if err != nil {
				return err
			}
			preset = preset.WithProgram(func(name string) (string, bool) { return osenv.LookPath(name, os.Getenv("PATH")) })
			if !write {
				fmt.Fprint(dockerCLI.Out(), preset.Text)
				return nil
			}
			return writePreset(dockerCLI, preset, project)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&write, "write", false, "Write the preset instead of printing it")
	flags.BoolVar(&project, "project", false, "With --write: write it for this directory's project only")
	return cmd
}

func listPresets(dockerCLI command.Cli) error {
	table := tabwriter.NewWriter(dockerCLI.Out(), 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "PRESET\tWHAT IT ALLOWS")
	for _, p := range config.Presets() {
		fmt.Fprintf(table, "%s\t%s\n", p.Name, p.Title)
	}
	return table.Flush()
}

func writePreset(dockerCLI command.Cli, preset config.Preset, project bool) error {
	_, src, err := currentSource()
	if err != nil {
		return err
	}
	file, err := targetFile(src, project)
	if err != nil {
		return err
	}
	if err := preset.Install(file); err != nil {
		return err
	}
	fmt.Fprintln(dockerCLI.Out(), file)
	cli.Say(dockerCLI.Err(), "hint: edit %s as you need, then: docker hostexec policy check", file)
	return nil
}
