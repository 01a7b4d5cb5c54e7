// SPDX-License-Identifier: Apache-2.0

// Package plugin is the docker hostexec command line: the program, and the root command with all verbs below it.
//
//	main -> Main -> plugin.RunPlugin of docker/cli -> root -> a verb of plugin/verb
//
// Verbs do not import each other. This package passes to a verb the functions that it needs of another verb, and the
// completions of its flags. The common code of verbs is in plugin/cli. The command line neither decides nor runs calls:
// the watcher, another process, does. The main packages below this one are:
//
//	verb           the verbs, in packages of related verbs
//	launch         starts a session
//	inject         describes the changes of a session's container, and fills its share
//	sessions       finds sessions and their states
//	watch          the watcher of a session, with its modes
//	carrier        the transports of calls to the watcher
//	control        the protocol between watchers, verbs and the page
//	page           the browser page that answers questions
//	apiproxy       the proxy of the engine's API
//	agent          runs an agent in a container, and prepares one on this host
//	callcontainer  runs commands in call containers
//	config         the user's configuration
//	state          the files in the state directory
package plugin

import (
	"context"
	"os"
	"strconv"

	dockermetadata "github.com/docker/cli/cli-plugins/metadata"
	"github.com/docker/cli/cli-plugins/plugin"
	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/debug"
	"go.opentelemetry.io/otel"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/keeper"
	"github.com/docker-hostexec/hostexec/plugin/metadata"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Main is the program. It returns the exit code.
func Main() int {
	if len(os.Args) == 3 && os.Args[0] == keeper.LostName {
		return answerLost(os.Args[1], os.Args[2])
	}
	os.Args = cli.Standalone(os.Args, plugin.RunningStandalone())
	// Otherwise, every command would write errors of telemetry to stderr.
	otel.SetErrorHandler(debug.OTELErrorHandler)
	if err := cli.LeaveAPIProxy(); err != nil {
		return cli.Report(os.Stderr, &cli.Failure{Code: cli.CodeVerb, Err: err})
	}
	dockerCLI, err := command.NewDockerCli()
	if err != nil {
		return cli.Report(os.Stderr, &cli.Failure{Code: cli.CodeVerb, Err: err})
	}
	about := dockermetadata.Metadata{
		SchemaVersion: metadata.Schema, Vendor: metadata.Vendor, Version: metadata.Version, ShortDescription: metadata.Short, URL: metadata.URL,
	}
	return cli.Report(os.Stderr, plugin.RunPlugin(dockerCLI, newRootCommand(dockerCLI), about))
}

// answerLost answers the callers of the session in dir, whose watcher ended with this exit status. It returns the
// status.
func answerLost(dir, status string) int {
	// The process that ends the commands of such a watcher holds the session's lock for a moment.
	ctx, cancel := context.WithTimeout(context.Background(), sessions.LockTimeout)
	defer cancel()
	watch.AnswerLost(ctx, dir)
	code, err := strconv.Atoi(status)
	if err != nil {
		return cli.CodeRun
	}
	return code
}
