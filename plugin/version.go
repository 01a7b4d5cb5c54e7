// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/templates"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/metadata"
)

const versionLong = `Show the version of docker hostexec

EXIT STATUS
  0  it was shown
  1  the format is not understood`

// versionInfo is the output of version.
type versionInfo struct {
	Version   string
	GoVersion string
	Os        string
	Arch      string
	Shims     []string // the architectures that containers may have
}

func newVersionCommand(dockerCLI command.Cli) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:               "version [OPTIONS]",
		Short:             "Show the version of docker hostexec",
		Long:              versionLong,
		Example:           "  docker hostexec version --format '{{.Version}}'",
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.Verb(func(*cobra.Command, []string) error {
			return writeVersion(dockerCLI.Out(), format, thisVersion())
		}),
	}
	cmd.Flags().StringVarP(&format, "format", "f", "", "Format output: `json|TEMPLATE`")
	cli.ExplainFields(cmd, cli.FieldsOf(versionInfo{}))
	return cmd
}

func thisVersion() versionInfo {
	return versionInfo{Version: metadata.Version, GoVersion: runtime.Version(), Os: runtime.GOOS, Arch: runtime.GOARCH, Shims: inject.Arches()}
}

func writeVersion(w io.Writer, format string, v versionInfo) error {
	switch format {
	case "":
		_, err := fmt.Fprintf(w, "docker hostexec version %s, %s, %s/%s\nshims: %s\n",
			v.Version, v.GoVersion, v.Os, v.Arch, strings.Join(v.Shims, " "))
		return err
	case "json":
		format = "{{json .}}"
	}
	t, err := templates.Parse(format)
	if err != nil {
		return fmt.Errorf("--format: %w", err)
	}
	if err := t.Execute(w, v); err != nil {
		return fmt.Errorf("--format: %w", err)
	}
	_, err = fmt.Fprintln(w)
	return err
}
