// SPDX-License-Identifier: Apache-2.0

// Package with has the verbs with and compose. They run COMMAND, a client of the engine, with DOCKER_HOST set to the
// socket of package apiproxy. The API proxy gives a session to each selected container that COMMAND creates.
package with

import (
	"context"
	"errors"
	"fmt"
	"os"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/plugin/apiproxy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
)

const withLong = `Run a client of the engine, and let its containers call commands of this host

COMMAND is any client of the engine's API: docker itself, docker compose, tilt, act, or a test
that uses testcontainers. hostexec sets DOCKER_HOST for it, to the private socket of the API
proxy. Selected containers that COMMAND creates can call the commands of --proxy, as in docker
hostexec run. Except for creations and starts, the API proxy passes requests on unchanged. A
session stays with its container after COMMAND has ended.

--service selects the containers of a service of docker compose, --label those with a label,
and --all selects all. Without these flags, containers with the label io.hostexec.proxy are
selected, and those of the services in your configuration (services:). The value of that label
can name commands, separated by commas. Of the proxied commands, the container then gets only
these, if the flags and the configuration allow them.

COMMAND must use DOCKER_HOST: if it has a -H or --context of its own, it bypasses the API proxy.
Build steps, tasks of a swarm, and containers of Podman's own API (/libpod/) get no session. No
container may mount the socket.

EXIT STATUS
  The exit code of COMMAND, or 128 plus the number of the signal that ended it, and:
  125  hostexec failed; a line on stderr says why
  126  COMMAND could not be invoked
  127  COMMAND was not found`

const withExample = `  # the service web can call this host's make
  docker hostexec with --proxy make --service web -- docker compose up

  # tests that start containers
  docker hostexec with --proxy git=ask --all -- go test ./...

  # serve clients that are started elsewhere, until ^C
  docker hostexec with --proxy make --all --listen ~/.docker/me.sock
  docker hostexec with --proxy make --all --context hostexec`

// options are the flags of with.
type options struct {
	run      launch.Options
	services []string
	labels   []string
	all      bool
	listen   string
	context  string
}

// NewCommand returns the verb with.
func NewCommand(dockerCLI command.Cli) *cobra.Command {
	var opts options
	cmd := &cobra.Command{
		Use:               "with [OPTIONS] -- COMMAND [ARG...]",
		Short:             "Run a client of the engine, and let its containers call commands of this host",
		Long:              withLong,
		Example:           withExample,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cli.CompleteFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && opts.listen == "" && opts.context == "" {
				return cli.FailRun(cli.Hint(errors.New("no COMMAND"), "docker hostexec with --proxy make -- docker compose up"))
			}
			return runWith(cmd, dockerCLI, &opts, args)
		},
	}
	flags := cmd.Flags()
	opts.addFlags(flags)
	flags.StringVar(&opts.listen, "listen", "", "Listen at this `path`; without COMMAND, until ^C")
	flags.StringVar(&opts.context, "context", "", "Create a docker context of this `name`, and remove it at the end")
	return cmd
}

// addFlags adds the flags that with and compose share.
func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.SetInterspersed(false)
	o.run.AddFlags(flags)
	o.run.AddHTTPFlags(flags)
	flags.StringArrayVar(&o.services, "service", nil, "Select the containers of this `service` of docker compose")
	flags.StringArrayVar(&o.labels, "label", nil, "Select the containers with label `KEY[=VALUE]`")
	flags.BoolVar(&o.all, "all", false, "Select all containers")
}

// runWith checks the flags, and runs args. Each error that it returns has an exit code.
func runWith(cmd *cobra.Command, dockerCLI command.Cli, opts *options, args []string) error {
	err := cli.RefuseEmpty(cmd.Flags(), "workspace", "workdir-host")
	if f := cmd.Flags().Lookup("http"); err == nil && f.Changed && opts.run.HTTP == "" {
		err = launch.HTTPUsageError("")
	}
	if err == nil {
		err = run(cmd.Context(), dockerCLI, opts, args)
	}
	var ended dockercli.StatusError
	var failed *cli.Failure
	if errors.As(err, &ended) || errors.As(err, &failed) { // err has an exit code
		return err
	}
	return cli.FailRun(err)
}

// run serves as long as COMMAND runs or, without COMMAND, until a signal.
func run(docker context.Context, dockerCLI command.Cli, opts *options, args []string) (err error) {
	path := ""
	if len(args) > 0 {
		if path, err = find(args[0]); err != nil {
			return err
		}
	}
	store, err := sessions.OpenStore()
	if err != nil {
		return err
	}
	launcher, err := newSessionLauncher(docker, dockerCLI, opts)
	if err != nil {
		return err
	}
	if err := PruneAPIProxies(dockerCLI)(store); err != nil {
		return err
	}
	sock, err := apiproxy.Listen(store, opts.listen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sock.Close()) }()
	if opts.context != "" {
		contexts := dockerCLI.ContextStore()
		if err := createContext(contexts, sock, opts.context); err != nil {
			return err
		}
		defer func() {
			err = errors.Join(err, removeContext(contexts, apiproxy.Context{Name: opts.context, Host: sock.Host()}))
		}()
	}
	server := &apiproxy.Server{Engine: dockerCLI.Client(), Sessions: launcher, Socket: sock.Path}
	err = serveDuring(docker, server, sock, func() error {
		if len(args) > 0 {
			return runCommand(docker, path, args, environ(sock.Host(), dockerCLI.DockerEndpoint().Host, cli.GlobalArgs(dockerCLI)))
		}
		serveOthers(docker, dockerCLI, opts, launcher, sock.Host())
		return nil
	})
	report(dockerCLI, launcher)
	return err
}

// serveOthers serves clients that are started elsewhere, until a signal.
func serveOthers(docker context.Context, dockerCLI command.Cli, opts *options, launcher *apiproxy.SessionLauncher, host string) {
	announce(dockerCLI, opts, host)
	if dockerCLI.Err().IsTerminal() {
		launcher.ReportNotes(func(line string) { cli.Say(dockerCLI.Err(), "%s", line) })
	}
	ctx, stop := cli.CancelOnSignal(docker, nil)
	defer stop()
	<-ctx.Done()
}

// serveDuring serves on sock until client returns, also after docker's context has ended.
func serveDuring(docker context.Context, server *apiproxy.Server, sock *apiproxy.Socket, client func() error) error {
	ctx, stop := context.WithCancel(context.WithoutCancel(docker))
	served := make(chan error, 1)
	// ends when stop is called; serveDuring waits for it.
	go func() { served <- server.Serve(ctx, sock.UnixListener) }()
	err := client()
	stop()
	return errors.Join(err, <-served)
}

// announce prints how to make clients use the API proxy.
func announce(dockerCLI command.Cli, opts *options, host string) {
	if opts.context != "" {
		cli.Say(dockerCLI.Err(), "clients can use docker --context %s, until ^C", opts.context)
	}
	if opts.listen != "" {
		fmt.Fprintf(dockerCLI.Out(), "export DOCKER_HOST=%s\n", host)
	}
	if opts.context == "" && dockerCLI.Err().IsTerminal() {
		cli.Say(dockerCLI.Err(), "clients that have this variable can use it, until ^C")
	}
}

// environ returns the environment of COMMAND. DOCKER_HOST is host, so that clients connect to the API proxy, not to the
// engine.
func environ(host, engine string, globalArgs []string) []string {
	env := cli.BehindAPIProxy(cli.WithoutPluginEnv(os.Environ()), globalArgs, host)
	if os.Getenv(socketOverride) == "" {
		env = append(env, socketOverride+"="+socketForContainers(engine))
	}
	return env
}
