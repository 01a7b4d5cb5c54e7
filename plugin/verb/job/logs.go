// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const logsLong = `Show the messages of a session's watcher, or the output of a job

The log of a watcher does not contain the output of commands, which their callers get. At
least the newest two megabytes are kept.

--job shows the output of a job, byte for byte, with stdout and stderr separate. On a terminal,
control sequences are escaped. --raw writes the stored log as it is, control sequences included.
JOB is an id or its beginning. Name a session if jobs of several sessions have the same
beginning.

EXIT STATUS
  0  the log was shown
  1  it could not be shown`

type logsOptions struct {
	follow        bool
	tail          string
	job           string
	combined, raw bool
}

// NewLogsCommand returns the verb logs.
func NewLogsCommand(dockerCLI command.Cli) *cobra.Command {
	var opts logsOptions
	cmd := &cobra.Command{
		Use:               "logs [OPTIONS] SESSION|CONTAINER | logs --job JOB [OPTIONS] [SESSION|CONTAINER]",
		Short:             "Show the messages of a session's watcher, or the output of a job",
		Long:              logsLong,
		Example:           "  docker hostexec logs --tail 20 -f web\n  docker hostexec logs --job 3f2a -f",
		Args:              logsArgs,
		ValidArgsFunction: cli.CompleteFirst(sessions.Complete),
		RunE: cli.Verb(cli.With(state.Open, func(cmd *cobra.Command, store *state.Store, args []string) error {
			if cmd.Flags().Changed("job") {
				return jobLog(cmd.Context(), dockerCLI, store, args, opts)
			}
			rec, err := sessions.Find(cmd.Context(), dockerCLI, store, args[0])
			if err != nil {
				return cli.Hint(err, "docker hostexec status -a")
			}
			return showLog(cmd.Context(), names.ASCIIWriter(dockerCLI.Out()), state.LogFile(store.Dir(rec.ID)), opts)
		})),
	}
	cmd.Flags().BoolVarP(&opts.follow, "follow", "f", false, "Also show new lines")
	cmd.Flags().StringVarP(&opts.tail, "tail", "n", "all", "`Number` of lines to show from the end")
	cmd.Flags().StringVar(&opts.job, "job", "", "Show the output of `JOB`")
	cmd.Flags().BoolVar(&opts.combined, "combined", false, "With --job, write both streams to stdout")
	cmd.Flags().BoolVar(&opts.raw, "raw", false, "With --job, write the stored log unchanged to stdout; each line has a prefix for its stream")
	cmd.MarkFlagsMutuallyExclusive("job", "tail")
	_ = cmd.RegisterFlagCompletionFunc("job", completeJobs) // the flag exists
	return cmd
}

// logsArgs requires a session, unless a job's log is requested.
func logsArgs(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("job") {
		return dockercli.RequiresMaxArgs(1)(cmd, args)
	}
	for _, name := range []string{"combined", "raw"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is for the log of a job: --job JOB", name)
		}
	}
	return dockercli.ExactArgs(1)(cmd, args)
}

func showLog(ctx context.Context, w io.Writer, path string, opts logsOptions) error {
	lines := -1
	if opts.tail != "all" {
		n, err := strconv.Atoi(opts.tail)
		if err != nil || n < 0 {
			return fmt.Errorf("--tail %s: want a number of lines, or all", names.Quoted(opts.tail))
		}
		lines = n
	}
	f, err := dir.OpenPlain(path)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	b, err := previousFile(path, f)
	if err == nil {
		var rest []byte
		rest, err = io.ReadAll(f)
		b = append(b, rest...)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("read log: %w", err), f.Close())
	}
	if _, err := w.Write(lastLines(b, lines)); err != nil || !opts.follow {
		return errors.Join(err, f.Close())
	}
	return follow(ctx, w, path, f)
}

// previousFile returns the previous file of the log in f, unless f has become that file meanwhile.
func previousFile(path string, f *os.File) ([]byte, error) {
	old, err := dir.OpenPlain(state.OldLog(path))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer old.Close()
	if same, err := sameOpen(old, f); err != nil || same {
		return nil, err
	}
	return io.ReadAll(old)
}

func sameOpen(a, b *os.File) (bool, error) {
	x, err := a.Stat()
	y, yerr := b.Stat()
	if err = errors.Join(err, yerr); err != nil {
		return false, err
	}
	return os.SameFile(x, y), nil
}

// lastLines returns the last n lines of b, or all of them for a negative n.
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

// follow copies the data that is appended to f, the log at path, until the session is removed or ctx ends. It closes f.
// It polls, because people read logs.
func follow(ctx context.Context, w io.Writer, path string, f *os.File) error {
	defer func() { f.Close() }()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		next, err := dir.OpenPlain(path) // opened before f is read: later records are not in f
		if errors.Is(err, os.ErrNotExist) {
			_, err = io.Copy(w, f)
			return err
		}
		if err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		if same, serr := sameOpen(f, next); same || serr != nil {
			err = errors.Join(err, serr, next.Close())
		} else {
			f.Close()
			f = next
			_, cerr := io.Copy(w, f)
			err = errors.Join(err, cerr)
		}
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
