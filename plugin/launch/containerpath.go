// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/inject"
)

// containerPath returns the container's PATH without hostexec. The error is NotFound if the image is missing.
func containerPath(ctx context.Context, api client.APIClient, want Creation) (string, error) {
	if p, set := inject.Path(want.Config.Env); set {
		return p, nil
	}
	env, err := imageEnv(ctx, api, want)
	return pathOf(env), err
}

// imageEnv returns the environment of the container's image.
func imageEnv(ctx context.Context, api client.APIClient, want Creation) ([]string, error) {
	if want.Image != nil {
		return envOf(*want.Image), nil
	}
	img, err := want.InspectImage(ctx, api)
	return envOf(img), err
}

// InspectImage inspects the container's image.
func (c Creation) InspectImage(ctx context.Context, api client.APIClient) (image.InspectResponse, error) {
	var opts []client.ImageInspectOption
	if c.Platform != nil && versions.GreaterThanOrEqualTo(api.ClientVersion(), "1.49") {
		opts = append(opts, client.ImageInspectWithPlatform(c.Platform))
	}
	return api.ImageInspect(ctx, c.Config.Image, opts...)
}

func envOf(img image.InspectResponse) []string {
	if img.Config == nil {
		return nil
	}
	return img.Config.Env
}

// pathOf returns the PATH of a container's environment.
func pathOf(env []string) string {
	if p, set := inject.Path(env); set {
		return p
	}
	return inject.DefaultPath
}
