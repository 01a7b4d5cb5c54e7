// SPDX-License-Identifier: Apache-2.0

// Package doctor has the verb doctor, which checks the requirements of calls.
package doctor

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/command/formatter"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const doctorLong = `Check everything that sessions need, and print what was found, what it means, and how to fix it

Without --image, doctor changes nothing: tests on disk use a temporary directory. If the engine
does not answer within ten seconds, its probe fails, and the other probes continue.

With --image, a container of IMAGE calls a command of this host, as with docker hostexec run.
This shows for certain how calls reach the host. If the socket does not work, a second container
tries the relay.

EXIT STATUS
  0  no probe fails; warnings do not count
  1  at least one probe fails`

// NewCommand returns the verb doctor.
func NewCommand(dockerCLI command.Cli) *cobra.Command {
	var format, image string
	cmd := &cobra.Command{
		Use:   "doctor [OPTIONS]",
		Short: "Find problems, and how to fix them",
		Long:  doctorLong,
		Example: `  docker hostexec doctor
  docker hostexec doctor --format '{{.Status}} {{.Probe}}'
  docker hostexec doctor --image debian`,
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.VerbWithSignals(func(cmd *cobra.Command, _ []string) error {
			ctx, stop := cli.CancelOnSignal(cmd.Context(), nil)
			defer stop()
			all, err := examine(ctx, dockerCLI, image)
			if err != nil {
				return err
			}
			if err := writeFindings(names.ASCIIWriter(dockerCLI.Out()), all, format); err != nil {
				return err
			}
			return verdict(all)
		}),
	}
	cli.FormatFlag(cmd, &format, cli.FieldsOf(finding{}))
	cmd.Flags().StringVar(&image, "image", "", "Test calls from a container of this `image`")
	return cmd
}

// The results of a probe.
const (
	isOK   = "ok"
	isWarn = "warn" // it works with restrictions, or something is left behind
	isFail = "fail" // it does not work
)

// finding is the result of a probe. The zero value is no finding.
type finding struct {
	cli.Row
	Probe  string
	Status string
	Found  string // may have several lines
	Means  string
	Fix    string // the command to type, or ""
}

func (f finding) MarshalJSON() ([]byte, error) { return cli.MarshalRow(f) }

// doctor has the state that the probes share.
type doctor struct {
	cli        command.Cli
	store      *state.Store // its directory may not exist
	scratch    string       // a directory for tests on the file system of store, or ""
	scratchErr error        // why there is no scratch
	engine     engineFacts
}

// probeTimeout is the time limit for all requests to an engine, and for those to sessions.
const probeTimeout = 10 * time.Second

// examine runs all probes in the order of the output. If ctx ends, it returns the cause, and has removed the directory
// for its tests.
func examine(ctx context.Context, dockerCLI command.Cli, image string) ([]finding, error) {
	home, err := state.Home()
	if err != nil {
		return nil, err
	}
	d := &doctor{cli: dockerCLI, store: &state.Store{Home: home}}
	if d.scratch, d.scratchErr = d.makeScratch(); d.scratchErr == nil {
		defer os.RemoveAll(d.scratch)
	}
	d.engine = askEngine(ctx, dockerCLI)
	defer d.engine.close()
	probes := []struct {
		name string
		run  func() finding
	}{
		{"engine", d.engine.answers},
		{"carrier", func() finding { return d.carrier(ctx, image) }},
		{"events", d.fileEvents},
		{"engine events", func() finding { return d.engine.events(ctx) }},
		{"sockets", d.sockets},
		{"locks", d.locks},
		{"uid mapping", func() finding { return d.engine.uids(os.Geteuid()) }},
		{"architecture", d.engine.architecture},
		{"state directory", d.stateDirectory},
		{"configuration", d.configuration},
		{"programs", d.programs},
		{"stale state", func() finding { return d.staleState(ctx) }},
	}
	var all []finding
	for _, p := range probes {
		f := p.run()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f.Probe = p.name
		all = append(all, f)
	}
	return all, nil
}

// verdict returns an error if a probe fails.
func verdict(all []finding) error {
	var failed []string
	for _, f := range all {
		if f.Status == isFail {
			failed = append(failed, f.Probe)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("failed probes: %s", strings.Join(failed, ", "))
}

func writeFindings(w io.Writer, all []finding, format string) error {
	if format == formatter.TableFormatKey {
		for _, f := range all {
			f.write(w)
		}
		return nil
	}
	rows := make([]*finding, len(all))
	for i := range all {
		rows[i] = &all[i]
	}
	return cli.WriteRows(formatter.Context{Output: w, Format: formatter.Format(format)}, rows)
}

// write prints a finding as a paragraph, because its texts are too long for columns.
func (f finding) write(w io.Writer) {
	for line := range strings.Lines(f.Found) {
		fmt.Fprintf(w, "%-4s  %-15s  %s\n", f.Status, f.Probe, names.Escaped(strings.TrimSuffix(line, "\n")))
		f.Status, f.Probe = "", ""
	}
	fmt.Fprintf(w, "%23smeans: %s\n", "", f.Means)
	if f.Fix != "" {
		fmt.Fprintf(w, "%23sfix:   %s\n", "", names.Escaped(f.Fix))
	}
}
