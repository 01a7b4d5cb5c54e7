// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/command/formatter"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

const statusLong = `List sessions: containers that call commands of this host, and proxies, which have a
directory in place of a container

STATE is one of
  running  the container runs and its calls are answered
  waiting  the container is not there yet, or down for the moment
  lost     the container runs but nobody answers: docker hostexec resume
  exited   the container has stopped (with --all)
  gone     the container was removed (with --all): docker hostexec prune
  unknown  nobody answers, and neither does the engine

EXIT STATUS
  0  sessions were listed, if there were any
  1  they could not be`

const statusExample = `  docker hostexec status
  docker hostexec status --filter state=lost --format '{{.ID}} {{.Container}}'`

type statusOptions struct {
	all, quiet, noTrunc bool
	format              string
	filters             []string
}

func newStatusCommand(cli command.Cli) *cobra.Command {
	var opts statusOptions
	cmd := &cobra.Command{
		Use:               "status [OPTIONS]",
		Aliases:           []string{"ls"},
		Short:             "List sessions",
		Long:              statusLong,
		Example:           statusExample,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: verb(func(cmd *cobra.Command, _ []string) error {
			return runStatus(cmd.Context(), cli, opts)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&opts.all, "all", "a", false, "Show all sessions, those of stopped and removed containers too")
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "Only show session IDs")
	flags.BoolVar(&opts.noTrunc, "no-trunc", false, "Do not truncate output")
	flags.StringVar(&opts.format, "format", formatter.TableFormatKey, "Format output: `table|json|TEMPLATE`")
	flags.StringArrayVarP(&opts.filters, "filter", "f", nil, "Only show sessions with `KEY=VALUE` (id, container, image, command, state)")
	return cmd
}

func runStatus(ctx context.Context, cli command.Cli, opts statusOptions) error {
	keep, err := parseFilters(opts.filters)
	if err != nil {
		return err
	}
	store, err := state.Open()
	if err != nil {
		return err
	}
	recs, err := store.List()
	if err != nil {
		return err
	}
	var shown []session
	for _, s := range survey(ctx, cli, store, recs) {
		live := s.State != stateExited && s.State != stateGone
		if (live || opts.all || keep.has("state")) && keep.match(s) {
			shown = append(shown, s)
		}
	}
	return writeStatus(cli.Out(), shown, opts, time.Now())
}

// statusFilters are values by key: one of a key's values has to match, for each key.
type statusFilters map[string][]string

func (f statusFilters) has(key string) bool { return len(f[key]) > 0 }

var filterKeys = []string{"id", "container", "image", "command", "state"}

func parseFilters(args []string) (statusFilters, error) {
	f := make(statusFilters)
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || !slices.Contains(filterKeys, key) {
			return nil, fmt.Errorf("--filter %s: want KEY=VALUE with KEY one of %s", quoted(arg), strings.Join(filterKeys, ", "))
		}
		f[key] = append(f[key], value)
	}
	return f, nil
}

func (f statusFilters) match(s session) bool {
	for key, values := range f {
		if !slices.ContainsFunc(values, func(v string) bool { return matches(s, key, v) }) {
			return false
		}
	}
	return true
}

func matches(s session, key, value string) bool {
	switch key {
	case "id":
		return strings.HasPrefix(s.ID, value)
	case "container":
		return s.ContainerName == value || value != "" && strings.HasPrefix(s.Container, value)
	case "image":
		return s.Image == value
	case "command":
		return slices.Contains(s.Names(), value)
	case "state":
		return s.State == value
	}
	return false
}
