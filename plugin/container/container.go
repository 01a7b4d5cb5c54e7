// SPDX-License-Identifier: Apache-2.0

// Package container runs commands in fresh containers, as exec/executor runs them on the
// host: with the same descriptors, signals and status.
//
//	Run --create, start--> engine --> container: room <--socket--> here
//	     the command's descriptors, signals ----------^            Stopped, how it ended
//
// Its one law: a container is for one command and goes with it. When Run returns the
// command has ended and nothing of it runs; the container is removed by the engine, by the
// room's own end when this process is killed, and by Sweep if all that fails. No image is
// ever pulled, and nothing goes into a container that its caller does not have itself, but
// for what the host's policy adds.
package container

import (
	"context"
	"log/slog"
	"sync"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/system"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

// Engine is what is needed of an engine.
type Engine interface {
	insideEngine
	Info(ctx context.Context) (system.Info, error)
	ContainerCreate(ctx context.Context, config *container.Config, host *container.HostConfig, net *network.NetworkingConfig,
		platform *ocispec.Platform, name string) (container.CreateResponse, error)
	ContainerStart(ctx context.Context, id string, opts container.StartOptions) error
	ContainerWait(ctx context.Context, id string, until container.WaitCondition) (<-chan container.WaitResponse, <-chan error)
	ContainerList(ctx context.Context, opts container.ListOptions) ([]container.Summary, error)
	ContainerRemove(ctx context.Context, id string, opts container.RemoveOptions) error
}

// Rooms makes the containers of one session's commands. Set its fields before the first Run.
type Rooms struct {
	Session string                 // whose they are
	Home    string                 // the state directory, which tells one user's from another's
	Dir     string                 // private: a folder for each container while it is there
	Program string                 // the room's, static, of the engine's architecture
	Engine  func() (Engine, error) // connects to the session's engine
	Host    *executor.Host
	Log     *slog.Logger

	wg sync.WaitGroup // of the containers that are being removed

	mu sync.Mutex // guards the field below
	as *user      // once the engine was asked
}

// Place is what a container is made of.
type Place struct {
	Image   string
	Network string // the engine's default when empty
	Memory  int64  // bytes; 0: no limit, as for the rest
	CPUs    int64  // billionths of one
	Pids    int64
	Mounts  []Mount
	Cwd     string // in the container, below one of the mounts
}

// Mount is a directory of the host.
type Mount struct {
	Source, Target string
	ReadOnly       bool
}

// Runner returns what runs commands in fresh containers of p. A command's Path is one of
// the image's, or empty: then its name is looked for in the image's PATH.
func (r *Rooms) Runner(p Place) *Runner { return &Runner{r, p} }

// Runner runs commands in containers.
type Runner struct {
	rooms *Rooms
	place Place
}

// Run is executor.Host's, elsewhere.
func (r *Runner) Run(ctx context.Context, c executor.Command, s executor.Streams) (executor.Status, error) {
	return r.rooms.Host.RunIn(ctx, r, c, s)
}

// Close returns when all containers are gone, or are known not to go. No Run comes after.
func (r *Rooms) Close() { r.wg.Wait() }
