// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
)

// Additions returns the session's additions to want, a container that a client of the API proxy creates. The caller
// calls Created with its ID, and Finish. The error is NotFound if the image is missing.
func (l *Launch) Additions(ctx context.Context, api client.APIClient, want Creation) (Additions, error) {
	path, err := containerPath(ctx, api, want)
	if err != nil {
		return Additions{}, err
	}
	err = l.prepare(ctx, api, want)
	if rec := l.Plan.Record; err == nil && rec.Relay && rec.Carrier != carrier.ByFiles && l.Store.Engine(rec.Engine).RemoteFiles {
		err = l.useVolume(ctx, api, want)
	}
	if err != nil {
		return Additions{}, l.cause(err)
	}
	return l.additions(want, path), nil
}

// Refused handles the engine's refusal of a container with the additions. It returns other additions for a second try,
// or nil if the refusal is final. An error replaces the refusal.
func (l *Launch) Refused(ctx context.Context, api client.APIClient, want Creation, refusal error) (*Additions, error) {
	if err := l.filled(); err != nil {
		return nil, l.cause(err)
	}
	if !sourceMissing(refusal, l.Dir) || !l.Plan.Record.Relay || l.volume != "" {
		_ = l.explainRefusal(refusal) // returns refusal
		return nil, l.Failed
	}
	if err := l.useVolume(ctx, api, want); err != nil {
		return nil, err
	}
	path, err := containerPath(ctx, api, want)
	if err != nil {
		return nil, err
	}
	adds := l.additions(want, path)
	return &adds, nil
}

// Created binds the session to container id, which was created as want with the additions. If the watcher refuses the
// container, Created removes it.
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

// RemoveWithoutAdditions removes container id and returns an error. The image was missing before the container was
// created, so the container lacks the session's additions.
func RemoveWithoutAdditions(api client.APIClient, id, image string) error {
	remove(api, id)
	return errImageAppeared(image)
}

// ImageMissing reports whether an error of Creation.InspectImage concerns the image. The caller then passes the request
// to the engine, because clients pull the image after the engine's message.
func ImageMissing(err error) bool { return errdefs.IsNotFound(err) || errdefs.IsInvalidArgument(err) }
