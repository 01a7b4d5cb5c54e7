// SPDX-License-Identifier: Apache-2.0

package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/shim/room"
)

// The labels of these containers. Label has the session's id.
const (
	Label        = "io.hostexec.call"
	LabelRequest = "io.hostexec.request"
	LabelHome    = "io.hostexec.home"
)

// target is where a container sees its room.
const target = "/run/hostexec"

// answering is how long the engine may take over one thing. It is not cut short: then
// nobody would know what it did.
const answering = time.Minute

// contact is how long an engine may take to answer for the first time.
const contact = 20 * time.Second

// defaultPids is how many processes and threads a container may have if nobody says: as
// many as any program needs, and too few to fill the host with.
const defaultPids = 4096

// user is as whom commands run: whoever runs this, as the host sees it.
type user struct {
	name   string   // UID:GID
	groups []string // further ones
	remap  bool     // the engine would map it to another one
}

// who asks the engine at host, once, how to be this user in its containers.
func (r *Rooms) who(ctx context.Context, api Engine, host string) (user, error) {
	r.mu.Lock()
	as, known := r.as[host]
	r.mu.Unlock()
	if known {
		return as, nil
	}
	ctx, cancel := context.WithTimeout(ctx, contact)
	defer cancel()
	info, err := api.Info(ctx)
	if err != nil {
		return user{}, err
	}
	if as, err = me(info.SecurityOptions); err != nil {
		return user{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.as == nil {
		r.as = map[string]user{}
	}
	r.as[host] = as
	return as, nil
}

// me is this user in the containers of an engine with such options.
func me(options []string) (as user, err error) {
	if slices.Contains(options, "name=rootless") {
		return user{name: "0:0"}, nil // its root is this user
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

// create makes the container for c, whose room is in dir.
func (r *Rooms) create(ctx context.Context, api Engine, c executor.Command, p Place, dir string) (id string, err error) {
	as, err := r.who(ctx, api, p.Host)
	if err != nil {
		return "", explain(err, p, dir)
	}
	config, host := r.config(c, p, dir, as)
	resp, err := api.ContainerCreate(ctx, config, host, nil, nil, name(c.ID))
	if errors.Is(err, context.DeadlineExceeded) {
		r.leave(api, name(c.ID))
	}
	return resp.ID, explain(err, p, dir)
}

// name is what the container for a request is called.
func name(request string) string { return "hostexec-" + request }

func (r *Rooms) config(c executor.Command, p Place, dir string, as user) (*container.Config, *container.HostConfig) {
	config := &container.Config{
		Image:       p.Image,
		Entrypoint:  []string{target + "/" + room.Name},
		Cmd:         c.Args[:1], // for docker ps; the room is told all
		Env:         c.Env,
		WorkingDir:  p.Cwd,
		User:        as.name,
		Labels:      map[string]string{Label: r.Session, LabelRequest: c.ID, LabelHome: r.Home},
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	pids := cmp.Or(p.Pids, defaultPids)
	own := false // of docker's own first process: the room is the first
	host := &container.HostConfig{
		AutoRemove:  true, // even if nobody is left to do it
		Init:        &own,
		LogConfig:   container.LogConfig{Type: "none"}, // its output is not the engine's
		NetworkMode: container.NetworkMode(p.Network),
		Resources:   container.Resources{Memory: p.Memory, NanoCPUs: p.CPUs, PidsLimit: &pids},
		GroupAdd:    as.groups,
		Mounts:      []mount.Mount{{Type: mount.TypeBind, Source: dir, Target: target, ReadOnly: true}},
	}
	if !c.NewPrivs {
		host.SecurityOpt = []string{"no-new-privileges"}
	}
	if as.remap {
		host.UsernsMode = "host" // files have to be the user's
	}
	for _, m := range p.Mounts {
		host.Mounts = append(host.Mounts, m.asked())
	}
	return config, host
}

// asked is m as the engine is asked for it.
func (m Mount) asked() mount.Mount {
	switch {
	case m.Source != "":
		return mount.Mount{Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly}
	case m.File:
		return mount.Mount{Type: mount.TypeBind, Source: os.DevNull, Target: m.Target, ReadOnly: true}
	}
	return mount.Mount{Type: mount.TypeTmpfs, Target: m.Target, ReadOnly: true}
}

// remove removes a container that may be on its way out.
func (r *Rooms) remove(api Engine, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), answering)
	defer cancel()
	if err := removeNow(ctx, api, id); err != nil {
		r.Log.Warn("remove a command's container", "container", id, "error", err)
		r.leave(api, id)
	}
}

// removeNow removes a container that may have gone, or be on its way out.
func removeNow(ctx context.Context, api Engine, id string) error {
	err := api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil
	}
	return err
}

// maxLeft is how many containers Close is to try again. Sweep finds the rest.
const maxLeft = 1000

// leave has Close try again to remove a container.
func (r *Rooms) leave(api Engine, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) < maxLeft {
		r.left = append(r.left, leftover{api, id})
	}
}

// Sweep removes the containers of home's sessions that are left over: all those whose
// session dead says has no watcher.
func Sweep(ctx context.Context, api Engine, home string, dead func(session string) bool) error {
	ids, err := Leftover(ctx, api, home, dead)
	errs := []error{err}
	for _, id := range ids {
		if err := removeNow(ctx, api, id); err != nil {
			errs = append(errs, fmt.Errorf("remove a command's container: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Leftover returns the ids of the containers that Sweep would remove.
func Leftover(ctx context.Context, api Engine, home string, dead func(session string) bool) (ids []string, err error) {
	list, err := api.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", LabelHome+"="+home)),
	})
	if err != nil {
		return nil, fmt.Errorf("look for commands' containers: %w", err)
	}
	for _, c := range list {
		// An image that was made of such a container has its labels, but no name.
		if slices.Contains(c.Names, "/"+name(c.Labels[LabelRequest])) && dead(c.Labels[Label]) {
			ids = append(ids, c.ID)
		}
	}
	return ids, nil
}
