// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// volumeEngine is an engine that can only fill volumes. It has no image before a pull. All other requests panic.
type volumeEngine struct {
	client.APIClient
	pulled   bool
	copyErr  error
	volumes  []string // that exist
	named    int
	requests []string // that concern containers
}

func (e *volumeEngine) ServerVersion(context.Context) (types.Version, error) {
	return types.Version{Os: "linux", Arch: "amd64"}, nil
}

func (e *volumeEngine) ImageInspect(context.Context, string, ...client.ImageInspectOption) (image.InspectResponse, error) {
	return image.InspectResponse{}, errdefs.ErrNotFound
}

func (e *volumeEngine) VolumeCreate(context.Context, volume.CreateOptions) (volume.Volume, error) {
	e.named++
	v := volume.Volume{Name: fmt.Sprint("v", e.named)}
	e.volumes = append(e.volumes, v.Name)
	return v, nil
}

func (e *volumeEngine) VolumeRemove(_ context.Context, name string, _ bool) error {
	e.volumes = slices.DeleteFunc(e.volumes, func(v string) bool { return v == name })
	return nil
}

func (e *volumeEngine) ContainerCreate(context.Context, *container.Config, *container.HostConfig, *network.NetworkingConfig, *ocispec.Platform, string) (container.CreateResponse, error) {
	if !e.pulled {
		return container.CreateResponse{}, errdefs.ErrNotFound
	}
	e.requests = append(e.requests, "create")
	return container.CreateResponse{ID: "filler"}, nil
}

func (e *volumeEngine) CopyToContainer(context.Context, string, string, io.Reader, container.CopyToContainerOptions) error {
	e.requests = append(e.requests, "copy")
	return e.copyErr
}

func (e *volumeEngine) ContainerRemove(context.Context, string, container.RemoveOptions) error {
	e.requests = append(e.requests, "remove")
	return nil
}

// TestVolumeAgain fills a volume after a pull, although an earlier try has failed.
func TestVolumeAgain(t *testing.T) {
	l := &Launch{Store: &state.Store{Home: t.TempDir()}, Plan: &Plan{Record: state.Session{Relay: true}}}
	want := Creation{Config: &container.Config{Image: "x"}, Host: &container.HostConfig{}}
	api := &volumeEngine{copyErr: errors.New("no space left")}
	if err := l.useVolume(t.Context(), api, want); !errdefs.IsNotFound(err) || l.volume != "" || len(api.volumes) > 0 {
		t.Errorf("without the image: %v, the volume is %s of %v", err, l.volume, api.volumes)
	}
	api.pulled = true
	if err := l.useVolume(t.Context(), api, want); !errors.Is(err, api.copyErr) || l.volume != "" || len(api.volumes) > 0 {
		t.Errorf("without space: %v, the volume is %s of %v", err, l.volume, api.volumes)
	}
	api.copyErr, api.requests = nil, nil
	for range 2 { // the second time, there is nothing to do
		err := l.useVolume(t.Context(), api, want)
		if err != nil || l.volume != "v3" || !slices.Equal(api.volumes, []string{"v3"}) || !slices.Equal(api.requests, []string{"create", "copy", "remove"}) {
			t.Errorf("after the pull: %v, the volume is %s of %v, requests %v", err, l.volume, api.volumes, api.requests)
		}
	}
}
