// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// dockerWidth is the width of docker's help without a terminal.
const dockerWidth = 80

// groupFlags makes cmd's help show own, the flags of hostexec, before the hundred flags of docker run.
func groupFlags(cmd *cobra.Command, dockerCLI command.Cli, own *pflag.FlagSet) {
	cmd.Flags().AddFlagSet(own)
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		_, columns := dockerCLI.Out().GetTtySize()
		width := int(cmp.Or(columns, dockerWidth)) - 1
		rest := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if own.Lookup(f.Name) == nil {
				rest.AddFlag(f)
			}
		})
		_, err := fmt.Fprintf(cmd.OutOrStderr(), "Usage:  %s\n\n%s\n\nExamples:\n%s\n\nOptions of hostexec:\n%s\n\nOptions of docker run:\n%s\n", cmd.UseLine(), strings.TrimSpace(cmd.Long), cmd.Example,
			strings.TrimRight(own.FlagUsagesWrapped(width), "\n"), strings.TrimRight(rest.FlagUsagesWrapped(width), "\n"))
		return err
	})
}
