// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/opts"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/plugin/agent"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const agentLong = `Run one agent over stdin and stdout, on this host or in a container

What it runs, and where, stands in the agent section of config.yaml, or of the file that
--config names. Its stdin, stdout and stderr are this command's, byte for byte, so that any
client of an agent can run this in its place. In both modes the agent may call the commands
that --proxy names: they are in its PATH.

Where nothing says otherwise the agent is a process of this host's, in the current
directory, and no sandbox: it can do what you can. --mode container runs it in a container
with a directory of its own. It ends with its client, and nothing of it stays but that
directory, and jobs that may be kept and were started with --keep.

EXIT STATUS
  That of the agent, and:
  125  hostexec or docker could not run it; stderr says what, as JSON with --json
  127  its command was not found on this host`

const agentExample = `  # the agent that config.yaml describes, with git of this host
  docker hostexec agent --proxy git=ask

  # another one, in a container
  docker hostexec agent --mode container --image acp-agent:latest --proxy make

  # a command, as a process, greeted before its client says anything
  docker hostexec agent --handshake -- npx @zed-industries/claude-code-acp`

// agentOptions are the flags of agent, beyond those that it shares with run.
type agentOptions struct {
	run       runOptions
	file      string
	mode      string
	image     string
	handshake bool
	json      bool
	debug     bool

	pull, tty bool
	network   string
	volumes   []string
	labels    opts.ListOpts
	mounts    opts.MountOpt
	memory    opts.MemBytes
	cpus      opts.NanoCPUs
}

func newAgentCommand(cli command.Cli) *cobra.Command {
	o := agentOptions{labels: opts.NewListOpts(opts.ValidateLabel)}
	cmd := &cobra.Command{
		Use:               "agent [OPTIONS] [-- COMMAND [ARG...]]",
		Short:             "Run an agent over stdio, on this host or in a container",
		Long:              agentLong,
		Example:           agentExample,
		ValidArgsFunction: completeCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.failure(o.start(cmd, cli, args))
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func (o *agentOptions) addFlags(flags *pflag.FlagSet) {
	flags.SetInterspersed(false)
	o.run.addFlags(flags)
	flags.StringVar(&o.file, "config", "", "Read the agent section of this `file`, not that of config.yaml")
	flags.StringVar(&o.mode, "mode", "", "Where the agent runs (`process|container`)")
	flags.BoolVar(&o.handshake, "handshake", false, "Send initialize and session/new before the client's input")
	flags.BoolVar(&o.json, "json", false, "Say as JSON why the agent did not run, or how its container failed")
	flags.BoolVar(&o.debug, "debug", false, "Say on stderr what becomes of the agent's container")
	flags.StringVar(&o.image, "image", "", "The container's `image`")
	flags.BoolVar(&o.pull, "pull", false, "Pull the image if it is not there")
	flags.BoolVarP(&o.tty, "tty", "t", false, "Give the container a terminal, which merges stderr into stdout")
	flags.StringVar(&o.network, "network", "", "The container's `network`")
	flags.StringArrayVarP(&o.volumes, "volume", "v", nil, "Mount a `directory` in the container, as docker run does")
	flags.Var(&o.mounts, "mount", "Mount something in the container, as docker run does")
	flags.VarP(&o.labels, "label", "l", "Set a label of the container")
	flags.VarP(&o.memory, "memory", "m", "The container's memory limit")
	flags.Var(&o.cpus, "cpus", "The container's number of CPUs")
}

// inContainer are the flags that mean nothing on this host.
var inContainer = []string{"image", "pull", "tty", "network", "volume", "mount", "label", "memory", "cpus", "workdir-host"}

// start finds out what is to run, and runs it to its end.
func (o *agentOptions) start(cmd *cobra.Command, cli command.Cli, args []string) error {
	if err := named(cmd.Flags(), "workspace", "workdir-host", "config"); err != nil {
		return err
	}
	store, err := state.Open()
	if err != nil {
		return err
	}
	configured, err := o.configured(store)
	if err != nil {
		return err
	}
	spec, warnings, err := agent.New(configured, agent.Given{Mode: o.mode, Args: args, Image: o.image},
		agent.Host{Lookup: os.LookupEnv, Workspaces: store.Workspaces()})
	if err != nil {
		return err
	}
	for _, w := range append(configured.Warnings, warnings...) {
		o.say(cli, "warning: %s", w)
	}
	p, err := o.run.plan(spec.Container.Image, false)
	if err != nil {
		return err
	}
	p.rec.Agent = &state.Agent{Name: spec.Name, Mode: string(spec.Mode), Keep: spec.Container.Keep}
	ctx, stop := interruptible(cmd.Context(), cli)
	defer stop()
	r := &agentRun{agentOptions: o, cli: cli, plan: p, spec: spec}
	if spec.Mode == agent.InContainer {
		return r.inContainer(ctx, cmd.Flags())
	}
	return r.onHost(ctx, cmd.Flags())
}

// configured returns what is said of the agent: in --config's file alone, if there is one.
func (o *agentOptions) configured(store *state.Store) (config.Agent, error) {
	if o.file != "" {
		a, err := config.LoadAgent(o.file)
		if err != nil {
			return a, &agent.Error{Type: agent.InvalidConfig, Message: err.Error(), Cause: err}
		}
		return a, nil
	}
	here, err := os.Getwd()
	if err != nil {
		return config.Agent{}, err
	}
	a := config.Load(config.Source{Store: store.Home, Project: here}).Agent
	if err := a.Err(); err != nil {
		return a, &agent.Error{Type: agent.InvalidConfig, Message: err.Error(), Hint: "docker hostexec policy check", Cause: err}
	}
	return a, nil
}
