// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Engine is the part of the engine's API that this package uses, except for creating containers.
type Engine interface {
	Ping(ctx context.Context) (types.Ping, error)
	Info(ctx context.Context) (system.Info, error)
	ImageInspect(ctx context.Context, image string, opts ...client.ImageInspectOption) (image.InspectResponse, error)
	ContainerAttach(ctx context.Context, id string, opts container.AttachOptions) (types.HijackedResponse, error)
	ContainerStart(ctx context.Context, id string, opts container.StartOptions) error
	ContainerWait(ctx context.Context, id string, until container.WaitCondition) (<-chan container.WaitResponse, <-chan error)
	ContainerInspect(ctx context.Context, id string) (container.InspectResponse, error)
	ContainerStop(ctx context.Context, id string, opts container.StopOptions) error
	ContainerRemove(ctx context.Context, id string, opts container.RemoveOptions) error
	copier
}

// pingTimeout is the time limit for the engine's first reply.
const pingTimeout = 5 * time.Second

// Check returns an error if the engine or the image is not available, before anything is created.
func Check(ctx context.Context, api Engine, name string) (image.InspectResponse, error) {
	pingCtx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if _, err := api.Ping(pingCtx); err != nil {
		return image.InspectResponse{}, unavailable(err)
	}
	img, err := api.ImageInspect(ctx, name)
	switch {
	case errdefs.IsNotFound(err), errdefs.IsInvalidArgument(err):
		return img, imageNotFound(name, err)
	case client.IsErrConnectionFailed(err):
		return img, unavailable(err)
	case err != nil:
		return img, &Error{Type: Failed, Message: "look at image " + names.Escaped(name) + ": " + err.Error(), Cause: err}
	}
	return img, nil
}
