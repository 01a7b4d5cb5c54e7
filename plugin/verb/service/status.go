// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

const serviceStatusLong = `Show whether the service is installed, starts at login, and runs

EXIT STATUS
  0  it is installed
  1  it is not installed, or its file cannot be read or is not one of docker hostexec`

func newServiceStatusCommand(dockerCLI command.Cli) *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use:               "status [OPTIONS]",
		Short:             "Show whether the service is installed and runs",
		Long:              serviceStatusLong,
		Example:           "  docker hostexec service status",
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.Verb(func(cmd *cobra.Command, _ []string) error {
			m, err := managerOf(kind)
			if err != nil {
				return err
			}
			return showService(cmd.Context(), dockerCLI, m)
		}),
	}
	managerFlag(cmd, &kind)
	return cmd
}

func showService(ctx context.Context, dockerCLI command.Cli, m serviceManager) error {
	file, installed, err := m.find()
	if err != nil {
		return err
	}
	if !installed {
		return cli.Hint(fmt.Errorf("it is not installed: there is no %s", names.Escaped(file)), "docker hostexec service install")
	}
	fmt.Fprintf(dockerCLI.Out(), "installed: %s\n", names.Escaped(file))
	fmt.Fprintf(dockerCLI.Out(), "starts at login: %s\n", yes(m.enabled(file)))
	fmt.Fprintf(dockerCLI.Out(), "runs: %s\n", m.runs(ctx))
	return nil
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// enabled reports whether the manager starts the service at login.
func (m serviceManager) enabled(file string) bool {
	if m.link == "" {
		return true
	}
	target, err := os.Stat(filepath.Join(filepath.Dir(file), m.link))
	if err != nil {
		return false
	}
	written, err := os.Stat(file)
	return err == nil && os.SameFile(target, written)
}

// runs asks the manager whether the service runs.
func (m serviceManager) runs(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := exec.CommandContext(ctx, m.statusCommand[0], m.statusCommand[1:]...).Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "yes"
	case errors.As(err, &exit) && ctx.Err() == nil:
		return "no"
	}
	return "not known: " + names.Escaped(err.Error())
}
