// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"context"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

// Remover is the call of the engine's API that removes containers.
type Remover interface {
	ContainerRemove(ctx context.Context, id string, opts container.RemoveOptions) error
}

// Remove kills and removes a container with its anonymous volumes. It returns nil if the container does
// not exist or is being removed.
func Remove(ctx context.Context, api Remover, id string) error {
	err := api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil
	}
	return err
}
