// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/agent"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

// codeNotFound is the exit code if the agent's command is not found, as in a shell.
const codeNotFound = 127

// endError is the error for an agent whose end has a reason to report.
type endError struct {
	code int
	error
}

func (e *endError) Unwrap() error { return e.error }

// failure returns err as a failure of agent. The agent's own exit status stays. An interruption before the agent's
// start becomes the signal's exit status.
func (o *agentOptions) failure(err error) error {
	var status dockercli.StatusError
	var interrupted *cli.Interrupted
	switch {
	case err == nil, errors.As(err, &status):
		return err
	case errors.As(err, &interrupted):
		return interrupted.Status()
	}
	f := &cli.Failure{Code: cli.CodeRun, Err: err}
	var e *endError
	var agentErr *agent.Error
	if errors.As(err, &e) {
		f.Code = e.code
	}
	if errors.As(err, &agentErr) {
		if agentErr.Type == agent.CommandNotFound {
			f.Code = codeNotFound
		}
		if agentErr.Hint != "" {
			f.Err = cli.Hint(err, agentErr.Hint)
		}
	}
	if o.json {
		f.Show = showJSON
	}
	return f
}

// usageError reports wrong flags in docker's words or as JSON. --json may come after the wrong flag, where pflag
// has not parsed it.
func (o *agentOptions) usageError(cmd *cobra.Command, err error) error {
	args := os.Args
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	if o.json || slices.Contains(args, "--json") {
		return &cli.Failure{Code: cli.CodeRun, Err: &agent.Error{Type: agent.InvalidConfig, Message: err.Error()}, Show: showJSON}
	}
	return cli.FlagError(cmd, err)
}

// showJSON prints err as one line of JSON.
func showJSON(w io.Writer, err error) {
	var agentErr *agent.Error
	if !errors.As(err, &agentErr) {
		agentErr = &agent.Error{Type: agent.Failed, Message: err.Error()}
	}
	_ = json.NewEncoder(names.ASCIIWriter(w)).Encode(agentErr) // a closed stderr cannot be reported anywhere
}

// say prints a message. With --json it prints nothing: only the end is reported.
func (o *agentOptions) say(dockerCLI command.Cli, format string, args ...any) {
	if !o.json {
		cli.Say(dockerCLI.Err(), format, args...)
	}
}

// exit returns the error for an agent that ended with code.
func exit(code int, err error) error {
	var agentErr *agent.Error
	switch {
	case errors.As(err, &agentErr) && agentErr.Type == agent.ContainerExited:
		return &endError{code, err}
	case err != nil:
		return err
	case code != 0:
		return dockercli.StatusError{StatusCode: code}
	}
	return nil
}

// needsContainer refuses flags that need a container.
func needsContainer(name string) error {
	return &agent.Error{Type: agent.InvalidConfig, Message: fmt.Sprintf("--%s is for an agent in a container", name), Hint: "docker hostexec agent --mode container"}
}
