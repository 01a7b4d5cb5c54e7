// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

const logsLong = `Show what a session's watcher has to tell, or what a job wrote

These are the watcher's own messages. The output of commands went to who called them; that
of a job, a command that goes on without its caller, is shown with --job: each stream on
its own, byte for byte, but for what a terminal would take for commands. JOB is its id or
the beginning of that, of any session unless one is named.

EXIT STATUS
  0  the log was shown
  1  it could not be`

type logsOptions struct {
	follow        bool
	tail          string
	job           string
	combined, raw bool
}

func newLogsCommand(dockerCLI command.Cli) *cobra.Command {
	var opts logsOptions
	cmd := &cobra.Command{
		Use:               "logs [OPTIONS] SESSION|CONTAINER | logs --job JOB [OPTIONS] [SESSION|CONTAINER]",
		Short:             "Show the log of a session's watcher, or of a job",
		Long:              logsLong,
		Example:           "  docker hostexec logs --tail 20 -f web\n  docker hostexec logs --job 3f2a -f",
		Args:              logsArgs,
		ValidArgsFunction: first(completeSessions),
		RunE: verb(func(cmd *cobra.Command, args []string) error {
			store, err := state.Open()
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("job") {
				return jobLog(cmd.Context(), dockerCLI, store, args, opts)
			}
			rec, err := find(cmd.Context(), dockerCLI, store, args[0])
			if err != nil {
				return hint(err, "docker hostexec status -a")
			}
			return showLog(cmd.Context(), dockerCLI.Out(), state.LogFile(store.Dir(rec.ID)), opts)
		}),
	}
	cmd.Flags().BoolVarP(&opts.follow, "follow", "f", false, "Go on showing what is added")
	cmd.Flags().StringVarP(&opts.tail, "tail", "n", "all", "`Number` of lines to show from the end")
	cmd.Flags().StringVar(&opts.job, "job", "", "Show what `JOB` wrote")
	cmd.Flags().BoolVar(&opts.combined, "combined", false, "With --job, write both streams to stdout")
	cmd.Flags().BoolVar(&opts.raw, "raw", false, "With --job, write the combined log as it is, each line behind what says whose it is")
	cmd.MarkFlagsMutuallyExclusive("job", "tail")
	_ = cmd.RegisterFlagCompletionFunc("job", completeJobs) // it fails only for a flag that does not exist
	return cmd
}

// logsArgs wants a session, unless the log of a job is asked for.
func logsArgs(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("job") {
		return cli.RequiresMaxArgs(1)(cmd, args)
	}
	for _, name := range []string{"combined", "raw"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is for the log of a job: --job JOB", name)
		}
	}
	return cli.ExactArgs(1)(cmd, args)
}

func showLog(ctx context.Context, w io.Writer, path string, opts logsOptions) error {
	lines := -1
	if opts.tail != "all" {
		n, err := strconv.Atoi(opts.tail)
		if err != nil || n < 0 {
			return fmt.Errorf("--tail %s: neither a number of lines nor all", quoted(opts.tail))
		}
		lines = n
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	if _, err := w.Write(lastLines(b, lines)); err != nil || !opts.follow {
		return err
	}
	return follow(ctx, w, f)
}

// lastLines returns the last n lines of b; all of them when n is negative.
func lastLines(b []byte, n int) []byte {
	if n < 0 {
		return b
	}
	rest := bytes.TrimSuffix(b, []byte("\n"))
	for ; n > 0; n-- {
		i := bytes.LastIndexByte(rest, '\n')
		if i < 0 {
			return b
		}
		rest = rest[:i]
	}
	if len(rest) == len(bytes.TrimSuffix(b, []byte("\n"))) {
		return nil
	}
	return b[len(rest)+1:]
}

// follow copies what is added to f until the session is removed, or the reader has enough.
// It looks every so often: a log is read by people.
func follow(ctx context.Context, w io.Writer, f *os.File) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := io.Copy(w, f); err != nil {
			return err
		}
		if _, err := os.Stat(f.Name()); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
