// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"io"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/volume"

	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
)

// Engine lists the methods of an engine's client that the watcher uses.
type Engine interface {
	callcontainer.Engine
	DaemonHost() string // as DOCKER_HOST names it
	Info(ctx context.Context) (system.Info, error)
	Events(ctx context.Context, o events.ListOptions) (<-chan events.Message, <-chan error)
	VolumeList(ctx context.Context, o volume.ListOptions) (volume.ListResponse, error)
	VolumeRemove(ctx context.Context, name string, force bool) error
	VolumeInspect(ctx context.Context, name string) (volume.Volume, error)
	CopyFromContainer(ctx context.Context, id, path string) (io.ReadCloser, container.PathStat, error)
	ContainerStatsOneShot(ctx context.Context, id string) (container.StatsResponseReader, error)
	ContainerKill(ctx context.Context, id, signal string) error
	ContainerUpdate(ctx context.Context, id string, c container.UpdateConfig) (container.UpdateResponse, error)
	ContainerStop(ctx context.Context, id string, opts container.StopOptions) error
}
