// SPDX-License-Identifier: Apache-2.0

// Package plugin is the docker hostexec command line, one file per verb. Run is docker's
// own run command with a session around it; the other verbs look after sessions.
//
//	main -> Main -> docker/cli's plugin frame -> root -> a verb
//
// Its laws: what it says goes to stderr behind "hostexec: ", in lower case and with what
// to type next; stdout carries only answers; one function, report, turns errors into exit
// codes. It is the only room that knows docker/cli. It decides nothing about calls and
// runs none: those are the watcher's, another process.
package plugin

import (
	"os"

	"github.com/docker/cli/cli-plugins/metadata"
	"github.com/docker/cli/cli-plugins/plugin"
	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/debug"
	"go.opentelemetry.io/otel"

	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Version is what this build calls itself; the Makefile sets it.
var Version = "0.0.0-dev"

// Main is the program. It returns the exit code.
func Main() int {
	switch os.Args[0] { // we are started under these names by ourselves only
	case proctree.MonitorName:
		return proctree.Monitor(os.Args)
	case state.KeeperName:
		return watch.Keep(os.Args[1:])
	}
	if fromCompose(os.Args) {
		return refuseProvider(os.Stdout, os.Stderr, os.Args, beginAnew(os.Args))
	}
	os.Args = standalone(os.Args, plugin.RunningStandalone())
	// Without this, every command would write telemetry's complaints to stderr.
	otel.SetErrorHandler(debug.OTELErrorHandler)
	cli, err := command.NewDockerCli()
	if err != nil {
		return report(os.Stderr, &failure{code: codeVerb, err: err})
	}
	return report(os.Stderr, plugin.RunPlugin(cli, newRootCommand(cli), metadata.Metadata{
		SchemaVersion:    "0.1.0", // older dockers take no other
		Vendor:           "docker-hostexec",
		Version:          Version,
		ShortDescription: "Let containers call commands of this host",
		URL:              "https://github.com/docker-hostexec/hostexec",
	}))
}
