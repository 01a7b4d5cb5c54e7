// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// shellView shows a command in a shell to the user.
type shellView interface {
	Out() io.Writer
	Err() io.Writer
	Started(request string, pid int)
	Ended(code int, why string) // why is "" if the command ended by itself
	Close() error
}

func newShellView(dockerCLI command.Cli, c control.ShellCommand, asJSON bool) (shellView, error) {
	report := shell.Report{To: dockerCLI.Out(), Command: c.Text, Since: time.Now()}
	switch {
	case !asJSON:
		return plainShell{dockerCLI, c.Start}, nil
	case c.Start:
		return report.Events(), nil
	}
	return report.Object(func() (io.ReadWriteSeeker, error) { return shell.Spool("") })
}

// notRun returns err as the failure of a text that has not started. A caller of --json gets a report, too.
func notRun(dockerCLI command.Cli, c control.ShellCommand, asJSON bool, code int, err error) error {
	if asJSON {
		shell.Report{To: dockerCLI.Out(), Command: c.Text, Since: time.Now()}.NotRun(c.Start, code, err.Error())
	}
	return &cli.Failure{Code: code, Err: err}
}

// reportUsage makes cmd, which runs c, report a wrong command line to a caller of --json. --json may come after the wrong
// flag, where pflag has not parsed it.
func reportUsage(dockerCLI command.Cli, cmd *cobra.Command, c *control.ShellCommand, asJSON *bool) *cobra.Command {
	args, flagError := cmd.Args, cmd.FlagErrorFunc()
	report := func(err error) error {
		words := os.Args
		if end := slices.Index(words, "--"); end >= 0 {
			c.Text, words = strings.Join(words[end+1:], " "), words[:end]
		}
		if *asJSON || slices.Contains(words, "--json") {
			shell.Report{To: dockerCLI.Out(), Command: c.Text, Since: time.Now()}.NotRun(c.Start, cli.CodeRun, err.Error())
		}
		return err
	}
	cmd.Args = func(cmd *cobra.Command, words []string) error {
		if err := args(cmd, words); err != nil {
			return report(err)
		}
		return nil
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		_ = report(err)
		return flagError(cmd, err)
	})
	return cmd
}

// plainShell passes the output on unchanged.
type plainShell struct {
	cli    command.Cli
	starts bool
}

func (v plainShell) Out() io.Writer    { return v.cli.Out() }
func (v plainShell) Err() io.Writer    { return v.cli.Err() }
func (v plainShell) Ended(int, string) {}
func (v plainShell) Close() error      { return nil }

func (v plainShell) Started(request string, pid int) {
	if v.starts {
		cli.Say(v.cli.Err(), "request %s, pid %d", request, pid)
	}
}

// sayBusy tells a user at a terminal that the shell is busy.
func sayBusy(dockerCLI command.Cli, name string) {
	if dockerCLI.Err().IsTerminal() {
		cli.Say(dockerCLI.Err(), "%s", shell.BusyMessage(name))
	}
}

// shellError returns err, the reply of a watcher about the shell name, with the shell and the next command to type. The
// end of a text, such as a timeout, is reported as in the container.
func shellError(session, name string, err error) error {
	named := fmt.Errorf("shell %s: %w", names.Quoted(name), err)
	removed := shell.TerminatedError{Removed: true}
	switch err.Error() { // the reply is a text
	case shell.ErrNoShell.Error(), removed.Error():
		return cli.Hint(named, "docker hostexec shell create "+session+" "+name)
	case shell.ErrExists.Error(), shell.ErrName.Error():
		return cli.Hint(named, "docker hostexec shell ls "+session)
	}
	return err
}

// runInShell runs c with this process's streams, and returns its exit code as an error.
func runInShell(docker context.Context, dockerCLI command.Cli, session, name string, c control.ShellCommand, asJSON bool) error {
	client, err := dialSession(session)
	if err != nil {
		return notRun(dockerCLI, c, asJSON, cli.CodeRun, err)
	}
	defer client.Close()
	v, err := newShellView(dockerCLI, c, asJSON)
	if err != nil {
		return notRun(dockerCLI, c, asJSON, cli.CodeRun, err)
	}
	defer v.Close()
	t := &shownText{cli: dockerCLI, session: session, name: name, view: v, request: make(chan string, 1)}
	ctx, stop := t.handleSignals(docker, client, asJSON)
	err = client.RunShell(ctx, name, c, t.show)
	stop() // a signal that is being handled cancels ctx
	var interrupted *cli.Interrupted
	switch byCaller := errors.As(context.Cause(ctx), &interrupted); {
	case byCaller && err != nil:
		v.Ended(interrupted.Code(), interrupted.Reason())
		return interrupted.Status()
	case byCaller && t.cut != nil:
		return interrupted.Status()
	case err != nil:
		v.Ended(cli.CodeRun, err.Error())
		return &cli.Failure{Code: cli.CodeRun, Err: shellError(session, name, err)}
	case t.cut != nil:
		return t.cut
	case t.code != 0:
		return dockercli.StatusError{StatusCode: t.code}
	}
	return nil
}

// shownText is a text whose events are shown to the user.
type shownText struct {
	cli           command.Cli
	session, name string
	view          shellView
	request       chan string  // gets the id; has a buffer of one
	cut           *cli.Failure // it did not end by itself
	code          int          // otherwise
}

// show shows one event.
func (t *shownText) show(e control.ShellEvent) (err error) {
	switch {
	case e.Waits:
		sayBusy(t.cli, t.name)
	case e.PID != 0:
		t.view.Started(e.Request, e.PID)
	case e.Request != "":
		t.request <- e.Request
	case len(e.Out) > 0:
		_, err = t.view.Out().Write(e.Out)
	case len(e.Err) > 0:
		_, err = t.view.Err().Write(e.Err)
	case e.Error != "":
		t.view.Ended(e.Code, e.Error)
		t.cut = &cli.Failure{Code: e.Code, Err: shellError(t.session, t.name, errors.New(names.Escaped(e.Error)))}
	case e.Exit != nil:
		t.view.Ended(*e.Exit, "")
		t.code = *e.Exit
	}
	return err
}

// reportTimeout limits the time for which a signal waits until the watcher knows it.
const reportTimeout = time.Second

// handleSignals lets signals end the text: the watcher records which one, and the caller's exit code is the signal's.
// The returned context is for the text. With --json, it ends after a signal, so that the end is reported.
func (t *shownText) handleSignals(docker context.Context, client *control.Client, asJSON bool) (ctx context.Context, stop func()) {
	report := func(i *cli.Interrupted) {
		ctx, cancel := context.WithTimeout(context.Background(), reportTimeout)
		defer cancel()
		select {
		case id := <-t.request:
			_ = client.InterruptText(ctx, id, i.Signal()) // otherwise the end of the connection ends the text
		case <-ctx.Done(): // the watcher is of an earlier version, or suspended
		}
	}
	if asJSON {
		return cli.CancelOnSignal(docker, report)
	}
	return context.WithoutCancel(docker), cli.ReportOnSignal(docker, report)
}
