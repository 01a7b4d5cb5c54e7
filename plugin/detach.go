// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

const detachLong = `Undo attach: calls of the container end, and what attach put into it is removed

The container must run. What else is in the directories stays.

EXIT STATUS
  0  nothing of attach is left
  1  it is not attached, or something is left; a line on stderr says what`

func newDetachCommand(dockerCLI command.Cli) *cobra.Command {
	return &cobra.Command{
		Use:               "detach SESSION|CONTAINER",
		Short:             "Undo attach",
		Long:              detachLong,
		Example:           "  docker hostexec detach web",
		Args:              cli.ExactArgs(1),
		ValidArgsFunction: first(completeSessions),
		RunE: verb(func(cmd *cobra.Command, args []string) error {
			store, err := state.Open()
			if err != nil {
				return err
			}
			if err := leaveContainer(cmd.Context(), dockerCLI, store, args[0]); err != nil {
				return err
			}
			fmt.Fprintln(dockerCLI.Out(), args[0])
			return nil
		}),
	}
}

// leaveContainer ends a session that attach has begun, and removes what it put into the
// container. A container that does not run keeps it all: nothing in it can be removed then.
func leaveContainer(ctx context.Context, dockerCLI command.Cli, store *state.Store, ref string) error {
	s, err := lookAt(ctx, dockerCLI, store, ref)
	if err != nil {
		return err
	}
	name := s.ContainerName
	switch {
	case !s.Attached:
		by := "run"
		if s.Service != nil {
			by = "compose"
		}
		return hint(fmt.Errorf("session %s was not attached: its container was made by %s", s.ID, by), "docker hostexec stop "+s.ID)
	case s.State == stateGone:
		return store.Remove(s.ID)
	case s.State == stateExited, s.State == stateWaiting:
		return hint(fmt.Errorf("container %s does not run, and nothing can be removed from it", name), "docker start "+name+" && docker hostexec detach "+name)
	}
	if err := stopWatcher(ctx, store.Dir(s.ID), s.ID, 10*time.Second); err != nil {
		return err
	}
	api, err := connect(dockerCLI.ConfigFile(), s.GlobalArgs)
	if err != nil {
		return err
	}
	defer api.Close()
	if err := takeOut(ctx, api, s.Container, s.Names()); err != nil {
		return err
	}
	return store.Remove(s.ID)
}

// takingOut is how long a container may take over it: what is called there may be anything.
const takingOut = 15 * time.Second

// takeOut has the shim in a container remove itself and its commands.
func takeOut(ctx context.Context, api client.APIClient, id string, names []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, takingOut, errors.New("the container's hostexec does not end: it is not ours any more"))
	defer cancel()
	if err := watch.RootsAlone(ctx, api, id); err != nil {
		return hint(fmt.Errorf("remove the shims: %w", err), fmt.Sprintf("look at what is there, and then: docker exec -u 0 %.12s rm -r %s", id, inject.Target))
	}
	exec, err := api.ContainerExecCreate(ctx, id, container.ExecOptions{
		User: "0", WorkingDir: "/", AttachStdout: true, AttachStderr: true,
		Cmd: append([]string{inject.Bin + "/" + inject.Shim, "relay", inject.Target, "leave", inject.LinkDir}, names...),
	})
	if err != nil {
		return fmt.Errorf("remove the shims: %w", err)
	}
	at, err := api.ContainerExecAttach(ctx, exec.ID, container.ExecAttachOptions{})
	if err != nil {
		return fmt.Errorf("remove the shims: %w", err)
	}
	defer at.Close()
	defer context.AfterFunc(ctx, at.Close)()
	var said bytes.Buffer
	_, err = stdcopy.StdCopy(io.Discard, &said, io.LimitReader(at.Reader, 4096))
	if ctx.Err() != nil {
		return fmt.Errorf("remove the shims: %w", context.Cause(ctx))
	}
	st, ierr := api.ContainerExecInspect(ctx, exec.ID)
	if err == nil && ierr == nil && st.Running {
		err = errors.New("the container's hostexec says more than ours would")
	}
	if err = errors.Join(err, ierr); err != nil {
		return fmt.Errorf("remove the shims: %w", err)
	}
	if st.ExitCode != 0 {
		return fmt.Errorf("remove the shims: %+q", bytes.TrimSpace(said.Bytes()))
	}
	return nil
}
