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

// Creation is the container that docker run creates. docker run passes the same values again after a pull, so
// they are never changed in place.
type Creation struct {
	Config   *container.Config
	Host     *container.HostConfig
	Network  *network.NetworkingConfig
	Platform *ocispec.Platform
	Name     string
	Image    *image.InspectResponse // nil: the engine is asked when the image is needed
}

// creationTimeout is the time limit for the engine's answer after the creation was cancelled.
const creationTimeout = 5 * time.Second

// send has the engine create the container. It waits for the answer even when ctx ends. Otherwise the engine
// would still create the container, and its ID would be unknown.
func (c Creation) send(ctx context.Context, api client.APIClient) (container.CreateResponse, error) {
	caller := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(caller, func() { time.AfterFunc(creationTimeout, cancel) })()
	return api.ContainerCreate(ctx, c.Config, c.Host, c.Network, c.Platform, c.Name)
}
