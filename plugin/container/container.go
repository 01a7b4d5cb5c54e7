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
	Session string // whose they are
	Home    string // the state directory, which tells one user's from another's
	Dir     string // private: a folder for each container while it is there
	Program string // the room's, static, of the engine's architecture
	Host    *executor.Host
	Log     *slog.Logger
	// Engine connects to the engine at host, as DOCKER_HOST names one; empty is the session's.
	Engine func(host string) (Engine, error)

	wg     sync.WaitGroup // of the containers that are being removed
	once   sync.Once      // makes the turns
	all    turns          // of the containers that are there
	making turns          // of those that are being made

	mu   sync.Mutex      // guards the fields below
	as   map[string]user // by engine, once that was asked
	left []leftover      // what an engine has not removed
}

// leftover is a container that its engine was told to remove, and has not, or that it may
// have made though it did not say so.
type leftover struct {
	api Engine
	id  string
}

// Place is what a container is made of.
type Place struct {
	Image   string
	Host    string // the engine's; empty: the session's
	Network string // the engine's default when empty
	Memory  int64  // bytes; 0: no limit
	CPUs    int64  // billionths of one; 0: no limit
	Pids    int64  // 0: defaultPids
	Mounts  []Mount
	Cwd     string // in the container, below one of the mounts

	// Shown looks whether a container whose root directory it is given has Mounts as they
	// were meant: a name may lead elsewhere by the time that the engine follows it. Nil: it
	// does not matter.
	Shown func(root int) error
}

// Mount is a directory of the host. Without a Source there is nothing to be seen at Target:
// an empty directory, or file.
type Mount struct {
	Source, Target string
	ReadOnly, File bool
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
func (r *Rooms) Close() {
	r.wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), contact)
	defer cancel()
	for _, c := range r.left { // the engine may be back
		if err := removeNow(ctx, c.api, c.id); err != nil {
			r.Log.Warn("a command's container is left: docker hostexec prune", "container", c.id, "error", err)
		}
	}
}
