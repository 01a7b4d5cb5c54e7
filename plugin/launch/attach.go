// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
	watchcontainer "github.com/docker-hostexec/hostexec/plugin/watch/container"
)

// Attach creates a session for a running container.
func Attach(ctx context.Context, dockerCLI command.Cli, p *Plan, c container.InspectResponse) (l *Launch, err error) {
	api := dockerCLI.Client()
	store, err := state.Open()
	if err != nil {
		return nil, err
	}
	unlock, err := lockAttach(ctx, store)
	if err != nil {
		return nil, err
	}
	defer unlock()
	// In the background, because the engine starts programs to find its versions.
	arch := startAsync(func() (string, error) { return EngineArch(ctx, api) })
	remote := startAsync(func() (bool, error) { return hasRemoteFiles(ctx, api, store.Home, c) })
	defer func() { // waits for both requests
		_, _ = arch()
		_, _ = remote()
	}()
	if err := checkAttachable(ctx, dockerCLI, store, c); err != nil {
		return nil, err
	}
	stat := statContainer(ctx, api, c.ID)
	if p.Record.RuleCommands, err = namesWithoutProgram(stat, c, p.Record.RuleCommands); err != nil {
		return nil, err
	}
	if p.Record.RemoteFiles, err = remote(); err != nil {
		return nil, err
	}
	if l, err = Begin(ctx, dockerCLI, p); err != nil {
		return nil, err
	}
	started := l // l is nil after an error
	defer func() {
		ferr := started.Finish()
		if err == nil {
			err = ferr
		}
	}()
	if err = l.copyShims(ctx, api, c, arch); err == nil {
		err = l.bindRunning(ctx, c.ID)
	}
	if err != nil { // an interrupted copy, too, may have left files
		<-l.Ready
		l.Conn.Abort() // its relay would create files again
		_, rerr := removeShims(context.WithoutCancel(ctx), api, c.ID, p.Record)
		if ctx.Err() != nil { // the exit status of a signal has no text
			cli.Report(dockerCLI.Err(), cli.FailRun(rerr))
		}
		return nil, errors.Join(err, rerr)
	}
	l.Announce()
	return l, nil
}

// checkAttachable returns the reason why c cannot have a session, or nil.
func checkAttachable(ctx context.Context, dockerCLI command.Cli, store *state.Store, c container.InspectResponse) error {
	api := dockerCLI.Client()
	if err := checkShimsProtected(ctx, api, c); err != nil {
		return err
	}
	if err := checkNotAttached(ctx, dockerCLI, store, c); err != nil {
		return err
	}
	return checkPidsLeft(ctx, api, c)
}

// bindRunning binds the session to the running container id.
func (l *Launch) bindRunning(ctx context.Context, id string) error {
	<-l.Ready
	err := l.Err
	if err == nil {
		err = l.Conn.Bind(ctx, id, "")
	}
	l.warnOfMounts()
	if err == nil {
		l.ID = id
	}
	return err
}

// lockAttach waits until no other attach runs, so that a second attach to a container finds the session of the first.
func lockAttach(ctx context.Context, store *state.Store) (unlock func(), err error) {
	lock := state.NewLock(filepath.Join(store.Home, "attach.lock"))
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, fmt.Errorf("wait for another attach: %w", err)
	}
	return func() { _ = lock.Close() }, nil // an error does not matter: the process ends soon
}

// checkShimsProtected refuses a container in which users other than root could replace the shims.
func checkShimsProtected(ctx context.Context, api client.APIClient, c container.InspectResponse) error {
	err := watchcontainer.CheckShimOwner(ctx, api, c.ID)
	if err == nil {
		return nil
	}
	name, hint := path.Base(c.Name), "create it with docker hostexec run"
	var replaceable *watchcontainer.ReplaceableError
	switch {
	case client.IsErrConnectionFailed(err):
		return err
	case !errors.As(err, &replaceable), replaceable.NoDir && names.Within(replaceable.Path, inject.Target):
		hint = fmt.Sprintf("look at these files, and then: docker exec -u 0 %s rm -r %s", name, inject.Target)
	}
	return cli.Hint(fmt.Errorf("container %s: %w", name, err), hint)
}

// checkNotAttached refuses a container that has a session, also if the session is in another state directory. It ends a
// session whose shims the container's root has removed.
func checkNotAttached(ctx context.Context, dockerCLI command.Cli, store *state.Store, c container.InspectResponse) error {
	name := path.Base(c.Name)
	shim := inject.Bin + "/" + inject.Shim
	f, err := statPath(ctx, dockerCLI.Client(), c.ID, shim)
	if err != nil {
		return err
	}
	if rec, err := store.Find(c.ID); err == nil {
		if !f.Exists && rec.Attached {
			return Detach(ctx, dockerCLI, store, rec.ID)
		}
		return cli.Hint(fmt.Errorf("container %s is attached already: session %s", name, rec.ID), "docker hostexec detach "+name)
	}
	if f.Exists {
		return cli.Hint(fmt.Errorf("container %s is attached already, by a session that is not in %s: it has %s", name, store.Home, shim),
			fmt.Sprintf("detach it there, or if that session is no more: docker exec -u 0 %s rm -r %s", name, inject.Target))
	}
	return nil
}

// copyShims copies shims and links into a running container in one archive, because the engine starts a program
// to unpack each archive. If the links cannot be copied, it copies only the shims and warns the user.
func (l *Launch) copyShims(ctx context.Context, api client.APIClient, c container.InspectResponse, arch func() (string, error)) error {
	goarch, err := arch()
	if err != nil {
		return err
	}
	copyIn := func(links []string) error {
		archive, err := inject.Archive(goarch, l.Plan.Record.Linked(), nil, inject.Target[1:]+"/", links...)
		if err != nil {
			return err
		}
		return api.CopyToContainer(ctx, c.ID, "/", archive, container.CopyToContainerOptions{})
	}
	links, missing := l.linksFor(ctx, api, c)
	err = copyIn(links)
	if err != nil && len(links) > 0 && ctx.Err() == nil {
		missing, err = err, copyIn(nil)
	}
	if err != nil {
		return fmt.Errorf("copy the shims into the container: %w", err)
	}
	if missing != nil {
		cli.Say(l.CLI.Err(), "warning: commands are found in %s only: %v", inject.Bin, missing)
	}
	return nil
}

// linksFor returns the commands for which a link can be created in LinkDir. It inspects the container, whose files may
// differ from its image's. The error is the reason why some commands get no link.
func (l *Launch) linksFor(ctx context.Context, api client.APIClient, c container.InspectResponse) ([]string, error) {
	if !slices.Contains(filepath.SplitList(pathOf(c.Config.Env)), inject.LinkDir) {
		return nil, fmt.Errorf("the container's PATH has no %s", inject.LinkDir)
	}
	if inject.Covered(MountTargets(c), inject.LinkDir) {
		return nil, fmt.Errorf("there is a mount over %s", inject.LinkDir)
	}
	free, own, err := linkable(statContainer(ctx, api, c.ID), append(l.Plan.Record.Linked(), inject.Shim), true, "")
	if len(own) > 0 {
		err = own
	}
	return free, err
}

// hasRemoteFiles reports whether the engine of a container does not see this host's directories.
func hasRemoteFiles(ctx context.Context, api client.APIClient, home string, c container.InspectResponse) (bool, error) {
	remote, err := probeRemoteFiles(ctx, api, home, c.Image)
	if errdefs.IsNotFound(err) {
		return false, cli.Hint(fmt.Errorf("the image of container %s was removed; hostexec needs it to find out which directories the engine sees", path.Base(c.Name)), "create it with docker hostexec run")
	}
	return remote, err
}

// probeRemoteFiles reports whether the engine does not see this host's directories. It creates a container, which never
// runs, that mounts a new directory of this host.
func probeRemoteFiles(ctx context.Context, api client.APIClient, home, image string) (bool, error) {
	dir, err := os.MkdirTemp(home, "seen-")
	if err != nil {
		return false, fmt.Errorf("find out which directories the engine sees: %w", err)
	}
	defer os.Remove(dir)
	probe := Creation{Config: &container.Config{Image: image, Cmd: []string{inject.Shim}}, Host: &container.HostConfig{}}
	probe.Host.Mounts = append(probe.Host.Mounts, inject.ShareMount(dir))
	resp, err := probe.send(ctx, api)
	if sourceMissing(err, dir) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("find out which directories the engine sees: %w", err)
	}
	remove(api, resp.ID)
	return false, nil
}
