// SPDX-License-Identifier: Apache-2.0

// Package callcontainer runs commands in call containers. It also starts processes in existing containers, for shells:
// see RunningContainer. Descriptors, signals and status work like those of exec/executor on the host.
//
//	Run --create, start--> engine --> container: first process <--socket--> Run
//	     the command's descriptors and signals -------------^        Stopped, exit status
//
// Each call container runs one command and is removed after it. When Run returns, the command has ended and none of its
// processes is left. The engine removes the container. If this process is killed, the first process ends the container;
// Prune removes containers that are still left. This package pulls no images. A container gets the caller's directories
// of the host or, if there are none, the session's default directory; the uid and groups of the host's user; and what
// the host's policy adds.
package callcontainer

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

// Engine is the part of the engine's API that this package uses.
type Engine interface {
	existingEngine
	Info(ctx context.Context) (system.Info, error)
	ContainerCreate(ctx context.Context, config *container.Config, host *container.HostConfig, net *network.NetworkingConfig,
		platform *ocispec.Platform, name string) (container.CreateResponse, error)
	ContainerStart(ctx context.Context, id string, opts container.StartOptions) error
	ContainerWait(ctx context.Context, id string, until container.WaitCondition) (<-chan container.WaitResponse, <-chan error)
	ContainerList(ctx context.Context, opts container.ListOptions) ([]container.Summary, error)
	Remover
}

// Containers creates the call containers of one session. Set the exported fields before the first Run. It has
// many fields: the exported ones are options, and the others are what all containers share.
type Containers struct {
	Session string // the session's id
	Home    string // the state directory; distinguishes the containers of different users
	Dir     string // private; has one directory per running container
	Program string // the static program of the first process, for the engine's architecture
	Host    *executor.Host
	Log     *slog.Logger
	// Engine connects to the engine at host, in the form of DOCKER_HOST; empty means the session's engine.
	Engine func(host string) (Engine, error)

	wg       sync.WaitGroup // for containers that are being removed
	once     sync.Once      // initialises running and creating
	running  semaphore      // limits existing containers
	creating semaphore      // limits containers that are being created

	mu           sync.Mutex      // guards the fields below
	userByEngine map[string]user // by engine; cached after the first request
	leftovers    []leftover      // containers that an engine has not removed
}

// leftover is a container that its engine has not removed on request, or may have created without a reply.
type leftover struct {
	api Engine
	id  string
}

// Spec is the configuration of a call container.
type Spec struct {
	Image      string
	DockerHost string // address of the engine, as in DOCKER_HOST; empty: the session's engine
	Network    string // empty: the engine's default
	Memory     int64  // bytes; 0: no limit
	CPUs       int64  // in units of 1e-9 CPU; 0: no limit
	Pids       int64  // 0: defaultPids
	Mounts     []Mount
	Cwd        string // in the container, at or below one of the mounts

	// CheckMounts checks whether the container with the given root directory has the intended mounts. A source
	// path may have been replaced before the engine resolved it. Nil means no check.
	CheckMounts func(root int) error
}

// Mount is a mount of a host directory or file. Without a Source, Target becomes an empty directory or
// file.
type Mount struct {
	Source, Target string
	ReadOnly, File bool
}

// Runner returns a runner of commands in new call containers of p. A command's Path is a path in the image. If
// it is empty, the name is looked up in the image's PATH.
func (r *Containers) Runner(p Spec) *Runner { return &Runner{r, p} }

// Runner is an executor.Backend: it runs commands in call containers.
type Runner struct {
	containers *Containers
	spec       Spec
}

// Run is like Run of executor.Host, but in a container.
func (r *Runner) Run(ctx context.Context, c executor.Command, s executor.Streams) (executor.Status, error) {
	return r.containers.Host.RunOn(ctx, r, c, s)
}

// Close returns when all containers are removed, or cannot be removed. Run must not be called after Close.
func (r *Containers) Close() {
	r.wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), firstReplyTimeout)
	defer cancel()
	for _, c := range r.leftovers { // the engine may be available again
		if err := Remove(ctx, c.api, c.id); err != nil {
			r.Log.Warn("a call container is left: docker hostexec prune", "container", c.id, "error", err)
		}
	}
}
