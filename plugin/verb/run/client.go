// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/docker-hostexec/hostexec/plugin/launch"
)

// interposedCLI is the docker/cli for docker's own run command. It equals the real one, except for the
// client.
type interposedCLI struct {
	command.Cli
	launch *launch.Launch // nil if there is none, as in completions
}

// Client returns the engine's client.
func (c *interposedCLI) Client() client.APIClient {
	api := c.Cli.Client()
	if c.launch == nil {
		return api
	}
	return &interposedClient{APIClient: api, launch: c.launch}
}

// interposedClient lets launch change the creation and the start of the container. All other requests are
// docker run's own.
type interposedClient struct {
	client.APIClient
	launch *launch.Launch
}

// ContainerCreate creates the container with the session's additions.
func (c *interposedClient) ContainerCreate(ctx context.Context, config *container.Config, host *container.HostConfig,
	net *network.NetworkingConfig, platform *ocispec.Platform, name string,
) (container.CreateResponse, error) {
	return c.launch.Create(ctx, c.APIClient, launch.Creation{Config: config, Host: host, Network: net, Platform: platform, Name: name})
}

// ContainerStart starts the container, unless run was interrupted. docker run loses a signal that comes while
// the engine starts the container. Therefore ContainerStart then ends the container, which is not wanted any
// more.
func (c *interposedClient) ContainerStart(ctx context.Context, id string, opts container.StartOptions) error {
	if err := c.launch.RemoveIfInterrupted(c.APIClient); err != nil {
		return err
	}
	c.launch.Announce()
	if err := c.APIClient.ContainerStart(ctx, id, opts); err != nil {
		return err
	}
	return c.launch.RemoveIfInterrupted(c.APIClient)
}
