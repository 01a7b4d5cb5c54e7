// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/shim/initproc"
)

// The labels of call containers. The value of Label is the session's id.
const (
	Label        = "io.hostexec.call"
	LabelRequest = "io.hostexec.request"
	LabelHome    = "io.hostexec.home"
)

// target is the mount point of the container's directory.
const target = "/run/hostexec"

// engineTimeout is the time limit for one request to the engine. The end of a call does not cancel such a
// request, because its result would be unknown.
const engineTimeout = time.Minute

// firstReplyTimeout is the time limit for the first reply of an engine.
const firstReplyTimeout = 20 * time.Second

// defaultPids is the default limit of processes and threads. It is enough for any program and too low to
// exhaust the host.
const defaultPids = 4096

// user is the user that commands run as: the user of this process, as the host sees it.
type user struct {
	name   string   // UID:GID
	groups []string // additional groups
	remap  bool     // the engine would map the user to another one
}

// containerUser asks the engine at host, once, how to run as this user in its containers.
func (r *Containers) containerUser(ctx context.Context, api Engine, host string) (user, error) {
	r.mu.Lock()
	as, known := r.userByEngine[host]
	r.mu.Unlock()
	if known {
		return as, nil
	}
	ctx, cancel := context.WithTimeout(ctx, firstReplyTimeout)
	defer cancel()
	info, err := api.Info(ctx)
	if err != nil {
		return user{}, err
	}
	if as, err = userFor(info.SecurityOptions); err != nil {
		return user{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.userByEngine == nil {
		r.userByEngine = map[string]user{}
	}
	r.userByEngine[host] = as
	return as, nil
}

// userFor returns this user for containers of an engine with these security options.
func userFor(options []string) (as user, err error) {
	if slices.Contains(options, "name=rootless") {
		return user{name: "0:0"}, nil // root of a rootless engine is this user
	}
	groups, err := os.Getgroups()
	if err != nil {
		return user{}, os.NewSyscallError("getgroups", err)
	}
	as = user{name: strconv.Itoa(os.Getuid()) + ":" + strconv.Itoa(os.Getgid()), remap: slices.Contains(options, "name=userns")}
	for _, g := range groups {
		as.groups = append(as.groups, strconv.Itoa(g))
	}
	return as, nil
}

// create creates the container for c. dir is its directory on the host.
func (r *Containers) create(ctx context.Context, api Engine, c executor.Command, p Spec, dir string) (id string, err error) {
	as, err := r.containerUser(ctx, api, p.DockerHost)
	if err != nil {
		return "", explain(err, p, dir)
	}
	config, host := r.config(c, p, dir, as)
	resp, err := api.ContainerCreate(ctx, config, host, nil, nil, name(c.ID))
	if errors.Is(err, context.DeadlineExceeded) {
		r.retryRemove(api, name(c.ID))
	}
	return resp.ID, explain(err, p, dir)
}

// name returns the name of the container for a request.
func name(request string) string { return "hostexec-" + request }

func (r *Containers) config(c executor.Command, p Spec, dir string, as user) (*container.Config, *container.HostConfig) {
	config := &container.Config{
		Image:       p.Image,
		Entrypoint:  []string{target + "/" + initproc.Name},
		Cmd:         c.Args[:1], // for docker ps; the first process gets the complete command
		Env:         c.Env,
		WorkingDir:  p.Cwd,
		User:        as.name,
		Labels:      map[string]string{Label: r.Session, LabelRequest: c.ID, LabelHome: r.Home},
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	pids := cmp.Or(p.Pids, defaultPids)
	own := false // docker-init is not needed as first process
	host := &container.HostConfig{
		AutoRemove:  true, // works even after this process has ended
		Init:        &own,
		LogConfig:   container.LogConfig{Type: "none"}, // the output does not pass through the engine
		NetworkMode: container.NetworkMode(p.Network),
		Resources:   container.Resources{Memory: p.Memory, NanoCPUs: p.CPUs, PidsLimit: &pids},
		GroupAdd:    as.groups,
		Mounts:      []mount.Mount{{Type: mount.TypeBind, Source: dir, Target: target, ReadOnly: true}},
	}
	if !c.NewPrivs {
		host.SecurityOpt = []string{"no-new-privileges"}
	}
	if as.remap {
		host.UsernsMode = "host" // files must belong to the user
	}
	for _, m := range p.Mounts {
		host.Mounts = append(host.Mounts, m.apiMount())
	}
	return config, host
}

// apiMount returns m in the form of the engine's API.
func (m Mount) apiMount() mount.Mount {
	switch {
	case m.Source != "":
		return mount.Mount{Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly}
	case m.File:
		return mount.Mount{Type: mount.TypeBind, Source: os.DevNull, Target: m.Target, ReadOnly: true}
	}
	return mount.Mount{Type: mount.TypeTmpfs, Target: m.Target, ReadOnly: true}
}

// remove removes a container. The container may be ending already.
func (r *Containers) remove(api Engine, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	if err := Remove(ctx, api, id); err != nil {
		r.Log.Warn("remove a call container", "container", id, "error", err)
		r.retryRemove(api, id)
	}
}

// maxLeft is the number of containers that Close tries to remove again. Prune finds the rest.
const maxLeft = 1000

// retryRemove makes Close try again to remove a container.
func (r *Containers) retryRemove(api Engine, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.leftovers) < maxLeft {
		r.leftovers = append(r.leftovers, leftover{api, id})
	}
}

// Prune removes the leftover call containers of sessions in the state directory home. A container is left over if dead
// reports that its session has no watcher.
func Prune(ctx context.Context, api Engine, home string, dead func(session string) bool) error {
	ids, err := Leftovers(ctx, api, home, dead)
	errs := []error{err}
	for _, id := range ids {
		if err := Remove(ctx, api, id); err != nil {
			errs = append(errs, fmt.Errorf("remove a call container: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Leftovers returns the ids of the containers that Prune would remove.
func Leftovers(ctx context.Context, api Engine, home string, dead func(session string) bool) (ids []string, err error) {
	list, err := api.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", LabelHome+"="+home)),
	})
	if err != nil {
		return nil, fmt.Errorf("look for commands' containers: %w", err)
	}
	for _, c := range list {
		// A container of an image that was committed from such a container has the labels too, but not the
		// name.
		if slices.Contains(c.Names, "/"+name(c.Labels[LabelRequest])) && dead(c.Labels[Label]) {
			ids = append(ids, c.ID)
		}
	}
	return ids, nil
}
