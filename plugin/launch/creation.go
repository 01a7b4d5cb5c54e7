// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Creation describes a container to create. docker run passes the same values again after a pull, so they are never
// changed in place.
type Creation struct {
	Config   *container.Config
	Host     *container.HostConfig
	Network  *network.NetworkingConfig
	Platform *ocispec.Platform
	Name     string
	Image    *image.InspectResponse // nil: not inspected yet
}

// creationTimeout is the time limit for the engine's answer after the creation was cancelled.
const creationTimeout = 5 * time.Second

// send creates the container. It waits for the answer even when ctx ends, because the engine would still create the
// container, with an unknown ID.
func (c Creation) send(ctx context.Context, api client.APIClient) (container.CreateResponse, error) {
	caller := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(caller, func() { time.AfterFunc(creationTimeout, cancel) })()
	return api.ContainerCreate(ctx, c.Config, c.Host, c.Network, c.Platform, c.Name)
}
