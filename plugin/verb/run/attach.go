// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/command/completion"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const attachLong = `Let a running container call commands of this host

attach copies the shims into the container, to /run/hostexec. It links them in /usr/local/bin
where no such name exists, and starts a relay that carries the calls. The container is not
restarted. ^C, or docker hostexec detach, ends the calls and removes these files.

A container cannot be attached if its root file system is read-only, or if it has a mount over
/run. Nor can it if users other than root can write /run. Create such containers with docker
hostexec run.

EXIT STATUS
  0    with --detach: the container is attached
       without: it was attached, and then detached or stopped
  125  it could not be attached; a line on stderr says why
  130  ^C ended attach before the container was attached; 128+N: signal N did`

// NewAttachCommand returns the verb attach.
func NewAttachCommand(dockerCLI command.Cli) *cobra.Command {
	opts := launch.Options{Carrier: carrier.ByRelay}
	var detach bool
	cmd := &cobra.Command{
		Use:   "attach [OPTIONS] CONTAINER",
		Short: "Let a running container call commands of this host",
		Long:  attachLong,
		Example: `  docker hostexec attach --proxy make web

  # return at once
  docker hostexec attach --detach --proxy make --proxy git=ask web`,
		Args:              dockercli.ExactArgs(1),
		ValidArgsFunction: cli.CompleteFirst(completeContainers(dockerCLI)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.RefuseEmpty(cmd.Flags(), "workdir-host"); err != nil {
				return cli.FailRun(err)
			}
			ctx, stop := cli.Interruptible(cmd.Context(), dockerCLI)
			defer stop()
			return cli.FailRun(cli.CauseOf(ctx, attach(ctx, dockerCLI, opts, args[0], detach)))
		},
	}
	opts.AddCommonFlags(cmd.Flags())
	cmd.Flags().BoolVarP(&detach, "detach", "d", false, "Print the session and return; the container stays attached")
	return cmd
}

func attach(ctx context.Context, dockerCLI command.Cli, opts launch.Options, ref string, detach bool) error {
	api := dockerCLI.Client()
	c, err := api.ContainerInspect(ctx, ref)
	if err != nil {
		return err
	}
	if err := attachable(c); err != nil {
		return err
	}
	p, err := opts.Plan(c.Config.Image, false)
	if err != nil {
		return err
	}
	p.Record.Engine, p.Record.Attached = dockerCLI.DockerEndpoint().Host, true
	p.Record.GlobalArgs = cli.PinEngine(cli.GlobalArgs(dockerCLI), p.Record.Engine)
	l, err := launch.Attach(ctx, dockerCLI, p, c)
	if err != nil {
		return err
	}
	fmt.Fprintln(dockerCLI.Out(), p.Record.ID)
	if detach {
		return nil
	}
	if err := waitAttached(ctx, api, c.ID, l.Store, p.Record.ID); ctx.Err() == nil {
		return err
	}
	return launch.Detach(context.WithoutCancel(ctx), dockerCLI, l.Store, p.Record.ID)
}

// waitAttached waits until the container has ended, the session was detached elsewhere, or ctx is done.
func waitAttached(ctx context.Context, api client.APIClient, id string, store *state.Store, session string) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended, failed := api.ContainerWait(ctx, id, container.WaitConditionNotRunning)
	store.OnChange(ctx, nil, func() {
		select {
		case <-ended:
			stop()
		case err = <-failed:
			stop()
		default:
			if _, missing := store.Load(session); errors.Is(missing, fs.ErrNotExist) {
				stop()
			}
		}
	})
	return err
}

// attachable returns an error with a hint if a container cannot be attached.
func attachable(c container.InspectResponse) error {
	name := path.Base(c.Name)
	targets := launch.MountTargets(c)
	for t := range c.HostConfig.Tmpfs {
		targets = append(targets, path.Clean(t))
	}
	createInstead := "create it with docker hostexec run"
	switch {
	case c.State.Paused:
		return cli.Hint(fmt.Errorf("container %s is paused", name), "docker unpause "+name)
	case !c.State.Running || c.State.Restarting:
		return cli.Hint(fmt.Errorf("container %s does not run: it is %s", name, c.State.Status), "docker start "+name)
	case c.Config.Labels[inject.LabelSession] != "":
		return cli.Hint(fmt.Errorf("container %s was created with session %s", name, names.Escaped(c.Config.Labels[inject.LabelSession])), "it can call already; if its watcher has ended: docker hostexec resume "+name)
	case c.HostConfig.ReadonlyRootfs:
		return cli.Hint(fmt.Errorf("container %s is read-only: nothing can be copied into it", name), createInstead)
	case inject.Covered(targets, inject.Target):
		return cli.Hint(fmt.Errorf("container %s has a mount over %s: nothing can be copied there", name, inject.Target), createInstead)
	}
	return nil
}

// completeContainers completes running containers without a session.
func completeContainers(dockerCLI command.Cli) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		names, directive := completion.ContainerNames(dockerCLI, false)(cmd, given, typed)
		taken := map[string]bool{}
		for _, rec := range sessions.Records() {
			taken[rec.ContainerName] = true
		}
		return slices.DeleteFunc(names, func(name string) bool { return taken[name] }), directive
	}
}
