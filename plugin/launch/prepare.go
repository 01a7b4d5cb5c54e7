// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Additions returns what the session adds to want, a container that somebody else creates. The caller calls Created
// with its ID, and Finish. The error is NotFound if the image is missing.
func (l *Launch) Additions(ctx context.Context, api client.APIClient, want Creation) (Additions, error) {
	path, err := containerPath(ctx, api, want)
	if err != nil {
		return Additions{}, err
	}
	err = l.prepare(ctx, api, want)
	if err == nil {
		err = l.remoteVolume(ctx, api, want)
	}
	if err != nil {
		return Additions{}, l.cause(err)
	}
	return l.additions(want, path), nil
}

// remoteVolume fills a volume in place of the share if the engine does not see this host's directories. run finds that
// out when the engine refuses its container; here it must be known before.
func (l *Launch) remoteVolume(ctx context.Context, api client.APIClient, want Creation) error {
	if !l.Plan.Record.Relay || l.Plan.Record.Carrier == carrier.ByFiles {
		return nil
	}
	known := l.Store.Engine(l.Plan.Record.Engine)
	remote := known.RemoteFiles
	if known == (state.Engine{}) {
		var err error
		if remote, err = seesNoFiles(ctx, api, l.Store.Home, want.Config.Image); err != nil {
			return err
		}
	}
	if !remote {
		return nil
	}
	if l.http.Address != "" {
		return errRemoteHTTP
	}
	return l.fillVolume(ctx, api, want)
}

// Created binds the session to container id, which was created as want with the additions. If the watcher objects, it
// removes the container.
func (l *Launch) Created(api client.APIClient, id string, want Creation) error {
	l.ID = id
	if err := l.bindContainer(api, want); err != nil {
		l.discard(api)
		return l.cause(err)
	}
	return nil
}

// errImageAppeared returns the error for a container that was created without the session's parts.
func errImageAppeared(image string) error {
	return fmt.Errorf("image %s appeared while hostexec was looking for it: run again", image)
}

// Unprepared handles container id, which was created from an image that was missing for Additions: it lacks the
// session's parts, and is removed.
func Unprepared(api client.APIClient, id, image string) error {
	remove(api, id)
	return errImageAppeared(image)
}

// ImageMissing reports whether an error of Additions is about the image: the engine has the better message, which makes
// clients pull it.
func ImageMissing(err error) bool { return errdefs.IsNotFound(err) || errdefs.IsInvalidArgument(err) }
