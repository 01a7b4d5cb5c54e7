// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/opts"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/jsonmessage"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/agent"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// inContainer runs the agent in a session's container, which is created as by run.
func (r *agentRun) inContainer(ctx context.Context, flags *pflag.FlagSet) error {
	r.override(flags)
	api, err := r.engine()
	if err != nil {
		return err
	}
	defer api.Close()
	img, err := r.check(ctx, api)
	if err != nil {
		return err
	}
	extra, err := r.extra()
	if err != nil {
		return err
	}
	if err := r.pruneBefore(ctx); err != nil {
		r.log("%v", err) // old containers do not affect this agent
	}
	r.plan.Record.ID = state.NewID()
	cwd := r.plan.Workspace
	if cwd == "" {
		cwd = r.spec.Container.Path
		if extra.Workspace, err = agent.MakeWorkspace(r.spec.Container.Base, r.plan.Record.ID); err != nil {
			return err
		}
	}
	if r.tty {
		r.say(r.cli, "warning: with -t, stderr is merged into stdout, and the terminal edits and echoes input: JSON-RPC does not work")
	}
	c := &agent.ContainerAgent{
		API: api, Spec: r.spec, Extra: extra, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Log: r.log,
	}
	if img.Config != nil {
		c.User = img.Config.User
	}
	if r.handshake {
		c.Handshake = agent.Handshake(cwd)
	}
	return exit(r.runContainer(ctx, api, c))
}

// runContainer runs c in its session.
func (r *agentRun) runContainer(ctx context.Context, api client.APIClient, c *agent.ContainerAgent) (int, error) {
	l, err := launch.Begin(ctx, r.cli, r.plan)
	if err != nil {
		c.Discard()
		return 0, err
	}
	c.Create = func(ctx context.Context, config *container.Config, host *container.HostConfig) (string, error) {
		resp, err := l.Create(ctx, api, launch.Creation{Config: config, Host: host, Name: sessions.AgentContainerName(r.plan.Record.ID)})
		if l.Failed != nil {
			err = l.Failed
		}
		if err != nil && strings.Contains(err.Error(), "bind source path does not exist") {
			err = cli.Hint(fmt.Errorf("a host directory is not visible to the daemon: %w", err), "use an engine on this host: docker context ls")
		}
		return resp.ID, err
	}
	c.Start = l.Announce
	c.WatcherEnded, c.WatcherFailure, c.Stopping = l.Conn.Exited, l.Conn.Failure, l.Conn.Stopping
	code, err := c.Run(ctx)
	return code, errors.Join(err, l.EndAgent())
}

// override applies the limits of the flags.
func (r *agentRun) override(flags *pflag.FlagSet) {
	if r.network != "" {
		r.spec.Container.Network = r.network
	}
	if flags.Changed("memory") {
		r.spec.Container.Memory = r.memory.Value()
	}
	if flags.Changed("cpus") {
		r.spec.Container.CPUs = r.cpus.Value()
	}
}

// engine returns a client of the agent's engine, and records the engine. The flags take precedence over the
// environment, then docker's context, then the configuration.
func (r *agentRun) engine() (client.APIClient, error) {
	rec := &r.plan.Record
	rec.GlobalArgs = cli.GlobalArgs(r.cli)
	if _, set, err := cli.ClientFlags(rec.GlobalArgs); err == nil && !set.Changed("host") && !set.Changed("context") {
		rec.Engine = r.spec.Container.DockerHost
		rec.GlobalArgs = cli.PinEngine(rec.GlobalArgs, rec.Engine)
	}
	api, err := cli.Connect(r.cli.ConfigFile(), rec.GlobalArgs)
	if err != nil {
		return nil, &agent.Error{Type: agent.DockerUnavailable, Message: "Cannot connect to Docker daemon. Is Docker running? Check: docker ps", Hint: "set agent.container.docker_host, DOCKER_HOST or docker context", Cause: err}
	}
	if rec.Engine == "" {
		rec.Engine = r.cli.DockerEndpoint().Host
		rec.GlobalArgs = cli.PinEngine(rec.GlobalArgs, rec.Engine)
	}
	return api, nil
}

// check is agent.Check. If requested, it pulls a missing image and checks again.
func (r *agentRun) check(ctx context.Context, api client.APIClient) (image.InspectResponse, error) {
	img, err := agent.Check(ctx, api, r.spec.Container.Image)
	var agentErr *agent.Error
	if !r.pull || !errors.As(err, &agentErr) || agentErr.Type != agent.ImageNotFound {
		return img, err
	}
	auth, err := command.RetrieveAuthTokenFromImage(r.cli.ConfigFile(), r.spec.Container.Image)
	if err != nil {
		return img, err
	}
	body, err := api.ImagePull(ctx, r.spec.Container.Image, image.PullOptions{RegistryAuth: auth})
	if err != nil {
		return img, fmt.Errorf("pull %s: %w", r.spec.Container.Image, err)
	}
	defer body.Close()
	if err := jsonmessage.DisplayJSONMessagesToStream(body, r.cli.Err(), nil); err != nil {
		return img, fmt.Errorf("pull %s: %w", r.spec.Container.Image, err)
	}
	return agent.Check(ctx, api, r.spec.Container.Image)
}

// extra returns the mounts and labels of the flags.
func (r *agentRun) extra() (agent.Extra, error) {
	x := agent.Extra{Mounts: r.mounts.Value(), TTY: r.tty, Labels: opts.ConvertKVStringsToMap(r.labels.GetSlice())}
	for _, v := range r.volumes {
		source, rest, ok := strings.Cut(v, ":")
		if !ok {
			return x, fmt.Errorf("-v %s: want SOURCE:TARGET", names.Quoted(v))
		}
		if strings.HasPrefix(source, ".") { // as in docker run: any other relative name is a volume
			abs, err := filepath.Abs(source)
			if err != nil {
				return x, err
			}
			source = abs
		}
		x.Binds = append(x.Binds, source+":"+rest)
	}
	return x, nil
}

// log prints a message about the container in debug mode.
func (r *agentRun) log(format string, args ...any) {
	if r.debug {
		r.say(r.cli, format, args...)
	}
}

// pruneBefore removes the containers that earlier agents have left on the engine.
func (r *agentRun) pruneBefore(ctx context.Context) error {
	store, err := state.Open()
	if err != nil {
		return err
	}
	recs, err := store.List()
	if err != nil {
		return err
	}
	recs = slices.DeleteFunc(recs, func(rec state.Session) bool {
		return rec.Agent == nil || rec.Agent.Keep || rec.OnHost() || rec.Engine != r.plan.Record.Engine
	})
	return sessions.PruneAgents(ctx, r.cli, store, sessions.States(ctx, r.cli, store, recs))
}
