// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
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

// user is as whom commands run: whoever runs this, as the host sees it.
type user struct {
	name  string // UID:GID
	remap bool   // the engine would map it to another one
}

// who asks the engine, once, how to be this user in its containers.
func (r *Rooms) who(ctx context.Context, api Engine) (user, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.as != nil {
		return *r.as, nil
	}
	info, err := api.Info(ctx)
	if err != nil {
		return user{}, err
	}
	as := user{strconv.Itoa(os.Getuid()) + ":" + strconv.Itoa(os.Getgid()), slices.Contains(info.SecurityOptions, "name=userns")}
	if slices.Contains(info.SecurityOptions, "name=rootless") {
		as = user{name: "0:0"} // its root is this user
	}
	r.as = &as
	return as, nil
}

// missingImage is an image that is not there, for which nobody was told to get it.
type missingImage string

func (m missingImage) Error() string { return "the engine has no image " + string(m) }

// Hint says what to do about it.
func (m missingImage) Hint() string {
	return "docker pull " + string(m) + " on the host: none is pulled for a call"
}

// create makes the container for c, whose room is in dir.
func (r *Rooms) create(ctx context.Context, api Engine, c executor.Command, p Place, dir string) (id string, err error) {
	as, err := r.who(ctx, api)
	if err != nil {
		return "", err
	}
	config, host := r.config(c, p, dir, as)
	resp, err := api.ContainerCreate(ctx, config, host, nil, nil, "hostexec-"+c.ID)
	if errdefs.IsNotFound(err) && strings.Contains(err.Error(), "mage") {
		return "", missingImage(p.Image)
	}
	return resp.ID, err
}

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
	own := false // of docker's own first process: the room is the first
	host := &container.HostConfig{
		AutoRemove:  true, // even if nobody is left to do it
		Init:        &own,
		LogConfig:   container.LogConfig{Type: "none"}, // its output is not the engine's
		NetworkMode: container.NetworkMode(p.Network),
		Resources:   container.Resources{Memory: p.Memory, NanoCPUs: p.CPUs},
		Mounts:      []mount.Mount{{Type: mount.TypeBind, Source: dir, Target: target, ReadOnly: true}},
	}
	if p.Pids > 0 {
		host.PidsLimit = &p.Pids
	}
	if !c.NewPrivs {
		host.SecurityOpt = []string{"no-new-privileges"}
	}
	if as.remap {
		host.UsernsMode = "host" // files have to be the user's
	}
	for _, m := range p.Mounts {
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	return config, host
}

// remove removes a container that may be on its way out.
func (r *Rooms) remove(api Engine, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), answering)
	defer cancel()
	err := api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
		r.Log.Warn("remove a command's container", "container", id, "error", err)
	}
}

// Sweep removes the containers of home's sessions that are left over: all those whose
// session dead says has no watcher.
func Sweep(ctx context.Context, api Engine, home string, dead func(session string) bool) error {
	list, err := api.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", LabelHome+"="+home)),
	})
	if err != nil {
		return fmt.Errorf("look for commands' containers: %w", err)
	}
	var errs []error
	for _, c := range list {
		if !dead(c.Labels[Label]) {
			continue
		}
		err := api.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
			errs = append(errs, fmt.Errorf("remove a command's container: %w", err))
		}
	}
	return errors.Join(errs...)
}
