// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
)

// RunningContainer is a running container in which Start starts processes: as the container's user, or as root.
// Processes of root get fixed values of the variables that could choose their programs, such as PATH. Requests name the
// container by its id, so they never reach a later container of the same name.
type RunningContainer struct {
	api      existingEngine
	id, name string
	programs Programs
}

// Programs opens the program that runs shells in containers, for an architecture as an engine names it.
type Programs func(arch string) (*os.File, error)

// existingEngine is the part of the engine's API that RunningContainer uses.
type existingEngine interface {
	ServerVersion(ctx context.Context) (types.Version, error)
	ContainerInspect(ctx context.Context, id string) (container.InspectResponse, error)
	execEngine
	ContainerExecInspect(ctx context.Context, exec string) (container.ExecInspect, error)
}

// Find returns the running container with the name ref. Unless exact is set, ref may also be an id or the
// beginning of one.
func Find(ctx context.Context, api existingEngine, ref string, exact bool, programs Programs) (*RunningContainer, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	c, err := api.ContainerInspect(ctx, ref)
	switch {
	case errdefs.IsNotFound(err) || err == nil && exact && c.Name != "/"+ref:
		return nil, fmt.Errorf("there is no container %s", ref)
	case err != nil:
		return nil, fmt.Errorf("look at container %s: %w", ref, err)
	case !c.State.Running || c.State.Paused:
		return nil, fmt.Errorf("container %s does not run: it is %s", ref, c.State.Status)
	}
	return &RunningContainer{api, c.ID, c.Name[1:], programs}, nil
}

// Name returns the container's name.
func (c *RunningContainer) Name() string { return c.name }

// Program opens the program that runs shells, and returns its size. It is the program for the engine's architecture. It
// also runs in a container whose image is for another architecture.
func (c *RunningContainer) Program(ctx context.Context) (io.ReadCloser, int64, error) {
	v, err := c.api.ServerVersion(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("ask the engine of container %s for its architecture: %w", c.name, err)
	}
	f, err := c.programs(v.Arch)
	if err != nil {
		return nil, 0, err
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, fi.Size(), nil
}

// rootEnv replaces variables of a container that could choose the programs that root runs.
var rootEnv = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LD_PRELOAD=", "LD_LIBRARY_PATH=", "LD_AUDIT="}

// Start starts args in the container, without a terminal, as the container's user or as root. Read reads its stdout,
// Write writes its stdin, and Close closes the connection. After Read has returned EOF, the returned function returns
// the exit status.
func (c *RunningContainer) Start(ctx context.Context, args []string, root bool) (io.ReadWriteCloser, func(context.Context) (int, error), error) {
	o := container.ExecOptions{Cmd: args, AttachStdin: true, AttachStdout: true, AttachStderr: true}
	if root {
		o.User, o.Env = "0:0", rootEnv
	}
	e, err := StartExec(ctx, c.api, c.id, o)
	if err != nil {
		return nil, nil, c.refused(err)
	}
	return e, func(ctx context.Context) (int, error) { return c.exit(ctx, e.ID) }, nil
}

// refused shortens the engine's error if the container does not exist, has ended, or is paused.
func (c *RunningContainer) refused(err error) error {
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return fmt.Errorf("container %s does not run", c.name)
	}
	return fmt.Errorf("start a process in container %s: %w", c.name, err)
}

// exit returns the exit status of a process. It polls because the engine may learn of the end after the
// output has ended.
func (c *RunningContainer) exit(ctx context.Context, exec string) (int, error) {
	for {
		st, err := c.api.ContainerExecInspect(ctx, exec)
		if err != nil || !st.Running {
			return st.ExitCode, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}
