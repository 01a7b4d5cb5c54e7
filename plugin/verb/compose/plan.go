// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/containerd/errdefs"
	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/client"
	"github.com/moby/sys/atomicwriter"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/state"
	watchcontainer "github.com/docker-hostexec/hostexec/plugin/watch/container"
)

// servicePlan is a plan for a service of the model.
type servicePlan struct {
	*launch.Plan
	Service
	name, image string
	shows       []container.MountPoint // by its mounts
	lenders     []Lender               // of more of them
}

// plans checks what was said of the chosen services that take part, in their order.
func (r *composeRun) plans(chosen map[string]Settings, active []string) (all []*servicePlan, err error) {
	oneoff := r.args.Oneoff(r.has)
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		if !slices.Contains(active, name) {
			continue
		}
		s := &servicePlan{Service: r.model.Services[name], name: name, image: r.model.ImageOf(name, r.args.Compat)}
		s.shows, s.lenders = r.model.Mounts(name)
		opts, err := optionsOf(chosen[name], r.dir)
		if err == nil {
			s.Plan, err = opts.Plan(s.image, s.WorkingDir != "")
		}
		if t, clash := inject.Clash(s.Targets()); clash && err == nil {
			err = fmt.Errorf("a mount at %s is in the way: hostexec uses %s itself", t, inject.Target)
		}
		if err != nil {
			return nil, r.inFiles(fmt.Errorf("service %s: %w", name, err))
		}
		s.Record.GlobalArgs, s.Record.Engine = r.tool.global, r.cli.DockerEndpoint().Host
		s.Record.Service = &state.Service{Project: r.model.Name, Name: name}
		if name == oneoff {
			s.Record.ID, s.Record.Service.Oneoff = state.NewID(), true
		}
		all = append(all, s)
	}
	return all, nil
}

// show has compose show the model, with what the sessions would add. There are none.
func (r *composeRun) show(ctx context.Context, all []*servicePlan) error {
	store, err := state.Open()
	if err != nil {
		return err
	}
	s := &services{cli: r.cli, api: r.cli.Client(), store: store}
	var adds []Addition
	for _, p := range all {
		s.known(p.Plan)
		add, err := s.addition(ctx, p)
		if errdefs.IsNotFound(err) {
			cli.Say(r.cli.Err(), "the image of service %s is not here: PATH will be what it sets", p.name)
			err = nil
		}
		if err != nil {
			return err
		}
		adds = append(adds, add)
	}
	text, err := Override(adds...)
	if err != nil {
		return err
	}
	f, err := passing(text)
	if err != nil {
		return fmt.Errorf("write the override: %w", err)
	}
	return r.tool.become(r.args.Words(append(r.files, fmt.Sprintf("/proc/self/fd/%d", f.Fd()))), []*os.File{f})
}

// make sees that the sessions are there, and has compose make or start the containers.
func (r *composeRun) make(ctx context.Context, all []*servicePlan) error {
	ctx, stop := cli.Interruptible(ctx, r.cli)
	defer stop()
	starts := !r.args.Adds()
	if !starts {
		if err := r.fetch(ctx, all); err != nil {
			return err
		}
	}
	s, err := openServices(ctx, r.cli, r.cli.Client())
	if err != nil {
		return err
	}
	defer s.close()
	files := r.files
	for _, p := range all {
		if err := r.hold(ctx, s, p, starts); err != nil {
			return fmt.Errorf("service %s: %w", p.name, err)
		}
		if !starts {
			files = append(files, state.OverrideFile(s.store.Dir(p.Record.ID)))
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if starts {
		return r.tool.become(r.args.Words(r.args.Files), s.leases)
	}
	return r.tool.become(r.args.Words(files), s.leases)
}

// hold has the session of one service served, and writes down what it adds to the project.
func (r *composeRun) hold(ctx context.Context, s *services, p *servicePlan, starts bool) error {
	if s.store.Engine(p.Record.Engine).RemoteFiles {
		return cli.Hint(errors.New("the engine does not see this host's directories, and compose cannot fill a volume in their place"),
			"docker compose up -d, and docker hostexec attach "+p.name)
	}
	s.known(p.Plan)
	if starts && !s.began(p.Record.ID) {
		return nil // its containers were made without us
	}
	var text []byte
	if !starts {
		add, err := s.addition(ctx, p)
		if err != nil && !errdefs.IsNotFound(err) {
			return err
		}
		if text, err = Override(add); err != nil {
			return err
		}
	}
	if err := p.borrow(ctx, s.api); err != nil {
		return err
	}
	notes, err := watchcontainer.Check(s.store, p.Record, p.container())
	if err != nil {
		return err
	}
	if err := s.hold(ctx, p.Plan); err != nil {
		return err
	}
	p.announce(r.cli, notes)
	if starts {
		return nil
	}
	return writeOverride(state.OverrideFile(s.store.Dir(p.Record.ID)), text)
}

// began reports whether there is a session of that id.
func (s *services) began(id string) bool { _, err := s.store.Load(id); return err == nil }

// addition is what p's session adds to its service. The error is NotFound when its image is
// not there; then PATH is what an image has that sets none.
func (s *services) addition(ctx context.Context, p *servicePlan) (Addition, error) {
	dir := s.store.Dir(p.Record.ID)
	path, set := p.Path()
	var err error
	if !set {
		if path, err = launch.ImagePath(ctx, s.api, p.image); err != nil {
			path = inject.DefaultPath
		}
	}
	labels := inject.Labels(&p.Record)
	delete(labels, inject.LabelVersion) // another build of hostexec is no other service
	add := Addition{Service: p.name, Path: inject.WithShimDirs(path, len(p.Record.RuleCommands) > 0), Labels: labels, Mounts: p.Mounts(dir, inject.Mount(state.ShareDir(dir)))}
	if p.Workspace != "" && !p.KeepDir {
		add.WorkingDir = p.Workspace
	}
	return add, err
}

// borrow adds what containers lend that are not the model's.
func (p *servicePlan) borrow(ctx context.Context, api client.APIClient) error {
	for _, l := range p.lenders {
		lent, err := watchcontainer.Mounts(ctx, api, l.Container)
		if err != nil {
			return fmt.Errorf("volumes_from: look at container %s: %w", l.Container, err)
		}
		p.shows = Lend(p.shows, lent, l.ReadOnly)
	}
	return nil
}

// container is the service's as the engine would show it, as far as that matters before it
// is there.
func (p *servicePlan) container() (c container.InspectResponse) {
	host := &container.HostConfig{Privileged: p.Privileged, PidMode: container.PidMode(p.Pid), NetworkMode: container.NetworkMode(p.NetworkMode), CapAdd: p.CapAdd}
	host.Devices = make([]container.DeviceMapping, len(p.Devices))
	c.ContainerJSONBase = &container.ContainerJSONBase{HostConfig: host}
	for _, m := range p.shows {
		if m.Destination != inject.Target { // another session's share, which is lent: ours is in its place
			c.Mounts = append(c.Mounts, m)
		}
	}
	if p.Workspace != "" {
		c.Mounts = append(c.Mounts, container.MountPoint{Type: mount.TypeBind, Source: p.Workspace, Destination: p.Workspace, RW: true})
	}
	return c
}

// fetch has compose build or pull the images that are not there, or that the person wants
// built: PATH is theirs. Compose finds them as they are then.
func (r *composeRun) fetch(ctx context.Context, all []*servicePlan) error {
	api := r.cli.Client()
	missing := map[string][]string{}
	for _, p := range all {
		if _, set := p.Path(); set || !slices.Contains(r.about, p.name) {
			continue
		}
		_, err := launch.ImagePath(ctx, api, p.image)
		switch {
		case p.Built() && r.args.Builds():
			missing["build"] = append(missing["build"], p.name)
		case err == nil:
		case !errdefs.IsNotFound(err):
			return fmt.Errorf("look at the image of service %s: %w", p.name, err)
		case p.Built():
			missing["build"] = append(missing["build"], p.name)
		default:
			missing["pull"] = append(missing["pull"], p.name)
		}
	}
	for _, verb := range slices.Sorted(maps.Keys(missing)) {
		if err := r.tool.do(ctx, r.args.AskAbout(r.files, verb, missing[verb]...)); err != nil {
			return err
		}
	}
	return nil
}

// announce says what has been opened to the service's containers.
func (p *servicePlan) announce(dockerCLI command.Cli, notes []string) {
	l := &launch.Launch{CLI: dockerCLI, Plan: p.Plan, Place: watchcontainer.Where(p.Record, p.container(), p.WorkingDir)}
	for _, m := range p.container().Mounts {
		if m.Type == mount.TypeBind && m.RW {
			l.Writable = append(l.Writable, m.Source)
		}
	}
	for _, n := range notes {
		l.Notice("warning: service %s: %s", p.name, n)
	}
	l.Announce()
}

// writeOverride writes a compose file, unless it is there.
func writeOverride(file string, text []byte) error {
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, text) {
		return nil
	}
	if err := atomicwriter.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("write the override: %w", err)
	}
	return nil
}
