// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli"
)

const manLong = `Write the manual pages of docker hostexec to a directory

There is one page for docker-hostexec(1), and one for each verb. Packages install them.

EXIT STATUS
  0  the pages were written
  1  they could not be written`

// newManCommand returns a hidden verb: users read the pages with man(1) or --help.
func newManCommand(command.Cli) *cobra.Command {
	return &cobra.Command{
		Use:               "man DIRECTORY",
		Short:             "Write the manual pages to a directory",
		Long:              manLong,
		Example:           "  docker hostexec man ~/.local/share/man/man1",
		Hidden:            true,
		Args:              dockercli.ExactArgs(1),
		ValidArgsFunction: directories,
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) error {
			return writePages(args[0], cmd.Parent())
		}),
	}
}

// writePages writes the pages of cmd and of its visible verbs. It creates dir if necessary.
func writePages(dir string, cmd *cobra.Command) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the directory of the manual pages: %w", err)
	}
	var page bytes.Buffer
	writePage(&page, cmd)
	if err := os.WriteFile(filepath.Join(dir, pageName(cmd)+".1"), page.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write a manual page: %w", err)
	}
	for _, sub := range visibleVerbs(cmd) {
		if err := writePages(dir, sub); err != nil {
			return err
		}
	}
	return nil
}

func visibleVerbs(cmd *cobra.Command) (visible []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			visible = append(visible, sub)
		}
	}
	return visible
}

// fullCommand returns the words that call cmd. The root command of docker is above it, except in tests.
func fullCommand(cmd *cobra.Command) string {
	return "docker " + strings.TrimPrefix(cmd.CommandPath(), "docker ")
}

// pageName is the name of a page. man(1) joins two words itself: man docker hostexec.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(fullCommand(cmd), " ", "-") }
