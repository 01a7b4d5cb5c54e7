// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Creation is the container that docker run wants to be made. It is passed again after a pull, so it is
// never changed in place.
type Creation struct {
	Config   *container.Config
	Host     *container.HostConfig
	Network  *network.NetworkingConfig
	Platform *ocispec.Platform
	Name     string
}

// patientFor is how long an engine has to answer a creation when nobody wants it any more.
const patientFor = 5 * time.Second

// send has the engine make the container. It waits for the answer even when ctx ends: the
// engine would finish all the same, and nobody would know which container is to go.
func (c Creation) send(ctx context.Context, api client.APIClient) (container.CreateResponse, error) {
	ended := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ended, func() { time.AfterFunc(patientFor, cancel) })()
	return api.ContainerCreate(ctx, c.Config, c.Host, c.Network, c.Platform, c.Name)
}
