// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/recording"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const replayLong = `Show the output of a recorded command, at the speed at which it was written

Commands are recorded if the configuration has record: true for them. REQUEST is the request's
id, as docker hostexec audit shows it, or its beginning.

Only printable ASCII, tabs and line ends are shown unchanged. Everything else is escaped,
because output can contain control sequences for your terminal. --raw writes everything as
recorded, with colours and cursor movements: use it only for output that you trust. The
recording is an asciicast, in recordings/ of the state directory.

EXIT STATUS
  0  the recording was shown
  1  it could not be shown`

type replayOptions struct {
	speed   float64
	noDelay bool
	raw     bool
}

// NewReplayCommand returns the verb replay.
func NewReplayCommand(dockerCLI command.Cli) *cobra.Command {
	var opts replayOptions
	cmd := &cobra.Command{
		Use:               "replay [OPTIONS] REQUEST",
		Short:             "Show the output of a recorded command",
		Long:              replayLong,
		Example:           "  docker hostexec replay --speed 4 5f0c1a2b3c4d5e6f",
		Args:              dockercli.ExactArgs(1),
		ValidArgsFunction: completeRecordings,
		RunE: cli.Verb(cli.With(state.Open, func(cmd *cobra.Command, store *state.Store, args []string) error {
			return replay(cmd.Context(), dockerCLI.Out(), dockerCLI.Err(), store.Recordings(), args[0], opts)
		})),
	}
	flags := cmd.Flags()
	flags.Float64Var(&opts.speed, "speed", 1, "Speed, as a multiple of the original")
	flags.BoolVar(&opts.noDelay, "no-delay", false, "Show everything at once")
	flags.BoolVar(&opts.raw, "raw", false, "Write the output unchanged, with control sequences")
	cmd.MarkFlagsMutuallyExclusive("speed", "no-delay")
	return cmd
}

// completeRecordings completes the requests that have recordings.
func completeRecordings(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	store, err := state.OpenReadOnly()
	if err != nil || len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	entries, _ := os.ReadDir(store.Recordings()) // the directory does not exist without recordings
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func replay(ctx context.Context, out, errs io.Writer, dir, request string, opts replayOptions) error {
	if !(opts.speed > 0) {
		return errors.New("--speed: want a number above 0")
	}
	p, err := recording.Open(dir, request)
	if err != nil {
		return err
	}
	defer p.Close()
	var safe asciiOutput
	begin := time.Now()
	for {
		e, err := p.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		due := begin.Add(time.Duration(float64(e.After) / opts.speed))
		if !opts.noDelay && !cli.PauseUntil(ctx, due) {
			return nil
		}
		text := e.Data
		switch {
		case e.IsMarker():
			cli.Say(errs, "%s", names.Quoted(text))
			continue
		case e.Code != "o":
			continue
		case !opts.raw:
			text = safe.render(text)
		}
		if _, err := io.WriteString(out, text); err != nil {
			return fmt.Errorf("show recording: %w", err)
		}
	}
}

// asciiOutput writes output in printable ASCII, so that no terminal executes control sequences.
type asciiOutput struct {
	returned bool // the last byte was a carriage return, which belongs to a newline after it
}

func (a *asciiOutput) render(s string) string {
	var b strings.Builder
	for _, r := range s {
		if a.returned && r != '\n' {
			b.WriteString(`\r`)
		}
		a.returned = r == '\r'
		switch {
		case a.returned:
		case r == '\n', r == '\t', ' ' <= r && r <= '~':
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}
