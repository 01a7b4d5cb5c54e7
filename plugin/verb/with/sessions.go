// SPDX-License-Identifier: Apache-2.0

package with

import (
	"context"
	"time"

	"github.com/docker/cli/cli/command"

	"github.com/docker-hostexec/hostexec/plugin/apiproxy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

// newLauncher returns the sessions of the containers that are selected, and narrows those of containers that exist.
func newLauncher(ctx context.Context, dockerCLI command.Cli, opts *options) (*apiproxy.Launcher, error) {
	l, err := apiproxy.NewLauncher(dockerCLI, opts.run, apiproxy.Selection{Services: opts.services, Labels: opts.labels, All: opts.all})
	if err != nil {
		return nil, err
	}
	return l, l.Narrow(ctx)
}

// differencesTimeout is the time limit for a last look at the containers.
const differencesTimeout = 5 * time.Second

// report prints, after COMMAND, what people should know of the sessions. Scripts get COMMAND's output only.
func report(dockerCLI command.Cli, l *apiproxy.Launcher) {
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
