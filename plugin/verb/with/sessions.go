// SPDX-License-Identifier: Apache-2.0

package with

import (
	"context"
	"time"

	"github.com/docker/cli/cli/command"

	"github.com/docker-hostexec/hostexec/plugin/apiproxy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

// newSessionLauncher returns the SessionLauncher for the selected containers. It also removes, from the sessions of
// existing containers, commands and variables that are not allowed any more.
func newSessionLauncher(ctx context.Context, dockerCLI command.Cli, opts *options) (*apiproxy.SessionLauncher, error) {
	l, err := apiproxy.NewSessionLauncher(dockerCLI, opts.run, apiproxy.Selection{Services: opts.services, Labels: opts.labels, All: opts.all})
	if err != nil {
		return nil, err
	}
	return l, l.RemoveDisallowed(ctx)
}

// differencesTimeout is the time limit for comparing the containers with the flags after COMMAND.
const differencesTimeout = 5 * time.Second

// report prints, after COMMAND, the lines for people about the sessions. In scripts it prints nothing.
func report(dockerCLI command.Cli, l *apiproxy.SessionLauncher) {
	l.Close()
	if !dockerCLI.Err().IsTerminal() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), differencesTimeout)
	defer cancel()
	lines, _ := l.Differences(ctx) // the engine may have gone
	for _, line := range append(l.Notes(), lines...) {
		cli.Say(dockerCLI.Err(), "%s", line)
	}
}
