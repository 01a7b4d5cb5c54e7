// SPDX-License-Identifier: Apache-2.0

// Package agent has the verbs agent and agent-rules. The first runs one agent for an editor or another client. The
// second prints what an agent in a container should know.
package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/opts"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/agent"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

const agentLong = `Run one agent over stdin and stdout, on this host or in a container

The agent section of config.yaml, or of the --config file, names the agent's program and where
it runs. stdin, stdout and stderr of this command are the agent's, byte for byte. So a client,
such as an editor, can start this command instead of the agent. The agent finds the commands of
--proxy in its PATH.

By default the agent runs as a process on this host, in the current directory. That is no
sandbox: the agent can do everything that you can. --mode container runs it in a container with
a directory of its own, which stays. If nobody reads the stderr of a container, output that does
not fit into a buffer is dropped. The agent ends with its client. Jobs that it started with --keep
continue, if a rule or --proxy NAME,keep allows that.

EXIT STATUS
  The agent's exit code, and:
  125  hostexec or docker could not run it; stderr says why, as JSON with --json
  127  its command was not found on this host`

const agentExample = `  # the agent of config.yaml, which can call this host's git
  docker hostexec agent --proxy git=ask

  # an agent in a container
  docker hostexec agent --mode container --image acp-agent:latest --proxy make

  # a command as a process; hostexec sends initialize and session/new first
  docker hostexec agent --handshake -- npx @zed-industries/claude-code-acp`

// agentOptions are the flags of agent, with a field for each flag that run does not have.
type agentOptions struct {
	run       launch.Options
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

// NewCommand returns the verb agent.
func NewCommand(dockerCLI command.Cli) *cobra.Command {
	o := agentOptions{labels: opts.NewListOpts(opts.ValidateLabel)}
	cmd := &cobra.Command{
		Use:               "agent [OPTIONS] [-- COMMAND [ARG...]]",
		Short:             "Run an agent over stdio, on this host or in a container",
		Long:              agentLong,
		Example:           agentExample,
		ValidArgsFunction: launch.CompleteCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.failure(o.start(cmd, dockerCLI, args))
		},
	}
	o.addFlags(cmd.Flags())
	cmd.SetFlagErrorFunc(o.usageError)
	return cmd
}

func (o *agentOptions) addFlags(flags *pflag.FlagSet) {
	flags.SetInterspersed(false)
	o.run.AddFlags(flags)
	flags.StringVar(&o.file, "config", "", "Read the agent section of this `file` instead of config.yaml")
	flags.StringVar(&o.mode, "mode", "", "Run the agent in this `mode`: process or container")
	flags.BoolVar(&o.handshake, "handshake", false, "Send initialize and session/new before the client's input")
	flags.BoolVar(&o.json, "json", false, "On failure, print one JSON object as the last line of stderr")
	flags.BoolVar(&o.debug, "debug", false, "Report creation, start and end of the container on stderr")
	flags.StringVar(&o.image, "image", "", "The container's `image`")
	flags.BoolVar(&o.pull, "pull", false, "Pull the image if it is missing")
	flags.BoolVarP(&o.tty, "tty", "t", false, "Give the container a terminal, which merges stderr into stdout")
	flags.StringVar(&o.network, "network", "", "The container's `network`")
	flags.StringArrayVarP(&o.volumes, "volume", "v", nil, "Mount a directory or volume in the container: `SOURCE:TARGET`")
	flags.Var(&o.mounts, "mount", "Mount something in the container, as docker run does")
	flags.VarP(&o.labels, "label", "l", "Set a label of the container")
	flags.VarP(&o.memory, "memory", "m", "The container's memory limit")
	flags.Var(&o.cpus, "cpus", "The container's number of CPUs")
}

// containerFlags lists the flags that have no meaning for an agent on this host.
var containerFlags = []string{"image", "pull", "tty", "network", "volume", "mount", "label", "memory", "cpus", "workdir-host"}

// start plans the run of the agent, and runs it to its end.
func (o *agentOptions) start(cmd *cobra.Command, dockerCLI command.Cli, args []string) error {
	args, err := o.workspaceArg(cmd.Flags(), args)
	if err == nil {
		err = cli.RefuseEmpty(cmd.Flags(), "workspace", "workdir-host", "config")
	}
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("mode") && o.mode == "" { // as an unset variable causes
		return &agent.Error{Type: agent.InvalidConfig, Message: "--mode: want process or container"}
	}
	if len(args) > 0 { // the command may be a path
		if fi, err := os.Stat(args[0]); err == nil && fi.IsDir() {
			if err := launch.RefuseBareWorkspace(cmd.Flags(), args); err != nil {
				return err
			}
		}
	}
	r, err := o.newRun(dockerCLI, args)
	if err != nil {
		return err
	}
	ctx, stop := cli.Interruptible(cmd.Context(), dockerCLI)
	defer stop()
	if r.spec.Mode == agent.InContainer {
		return r.inContainer(ctx, cmd.Flags())
	}
	return r.onHost(ctx, cmd.Flags())
}

// newRun reads the configuration, and returns the planned run of an agent. args are the agent's command.
func (o *agentOptions) newRun(dockerCLI command.Cli, args []string) (*agentRun, error) {
	store, err := state.Open()
	if err != nil {
		return nil, err
	}
	fromConfig, err := o.fromConfig(store)
	if err != nil {
		return nil, err
	}
	spec, warnings, err := agent.NewSpec(fromConfig, agent.Overrides{Mode: o.mode, Args: args, Image: o.image}, agentHost(store))
	if err != nil {
		return nil, err
	}
	for _, w := range append(fromConfig.Warnings, warnings...) {
		o.say(dockerCLI, "warning: %s", w)
	}
	p, err := o.run.Plan(spec.Container.Image, false)
	if err != nil {
		return nil, err
	}
	p.Record.Agent = &state.Agent{Name: spec.Name, Mode: string(spec.Mode), Keep: spec.Container.Keep}
	if o.file != "" {
		if p.Record.Agent.Config, err = filepath.Abs(o.file); err != nil {
			return nil, err
		}
		if err := checkNotWritable(store, p.Record.Agent.Config); err != nil {
			return nil, err
		}
	}
	return &agentRun{agentOptions: o, cli: dockerCLI, plan: p, spec: spec}, nil
}

// workspaceArg takes the argument after a bare --workspace as the flag's directory. The flag's value is
// optional, so pflag has stopped before that argument. It returns the rest, which is the agent's command.
func (o *agentOptions) workspaceArg(flags *pflag.FlagSet, args []string) ([]string, error) {
	before := len(os.Args) - len(args) - 1
	if len(args) == 0 || before < 0 || os.Args[before] != "--workspace" {
		return args, nil
	}
	if fi, err := os.Stat(args[0]); (err != nil || !fi.IsDir()) && !strings.ContainsRune(args[0], filepath.Separator) {
		return args, nil // the argument is a command
	}
	o.run.Workspace = args[0]
	if err := flags.Parse(args[1:]); err != nil {
		return nil, err
	}
	return flags.Args(), nil
}

func agentHost(store *state.Store) agent.Host {
	return agent.Host{Lookup: os.LookupEnv, Workspaces: store.Workspaces()}
}

// CheckConfig returns the error with which docker hostexec agent would refuse the configuration, for any command and
// image. If the file has a container section, it also checks --mode container. Unreadable files are reported elsewhere.
func CheckConfig(store *state.Store, c config.Agent) []policy.Problem {
	if c.Err() != nil {
		return nil
	}
	overrides := agent.Overrides{Args: []string{"any"}, Image: "any"}
	_, _, err := agent.NewSpec(c, overrides, agentHost(store))
	if err == nil && len(c.Container) > 0 {
		overrides.Mode = string(agent.InContainer)
		_, _, err = agent.NewSpec(c, overrides, agentHost(store))
	}
	if err != nil {
		text := err.Error()
		var wrong *agent.Error
		if errors.As(err, &wrong) && wrong.Hint != "" {
			text += ": " + wrong.Hint
		}
		return []policy.Problem{{Position: c.Position, Text: text, Fatal: true}}
	}
	return nil
}

// checkNotWritable refuses a configuration file that the container of an existing session can write, because the
// file chooses programs of this host. The mounts of the agent itself are checked after its container is
// created.
func checkNotWritable(store *state.Store, file string) error {
	recs, err := store.List()
	if err != nil {
		return err
	}
	recs = slices.DeleteFunc(recs, func(rec state.Session) bool { return rec.Proxy != nil }) // it is unknown who can write a proxy's directory
	rec, ok := watch.WriterOf(recs, file)
	if !ok {
		return nil
	}
	return &agent.Error{
		Type:    agent.InvalidConfig,
		Message: fmt.Sprintf("container %s can change %s, which decides which agent runs, and where", names.Escaped(rec.ContainerName), names.Escaped(file)),
		Hint:    "move the file out of the container's mounts, or remove the container, then: docker hostexec prune",
	}
}

// fromConfig returns the agent's configuration. With --config, only that file counts.
func (o *agentOptions) fromConfig(store *state.Store) (config.Agent, error) {
	if o.file != "" {
		a, err := config.LoadAgent(o.file)
		if err != nil {
			return a, &agent.Error{Type: agent.InvalidConfig, Message: err.Error(), Hint: "--config names a YAML file with an agent section: docs/agent.md has its keys", Cause: err}
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
