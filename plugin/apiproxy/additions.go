// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/docker/docker/api/types/container"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/docker-hostexec/hostexec/plugin/launch"
)

// parseCreation returns the container that req asks for. The result is for reading only: the engine gets req.Body.
func parseCreation(req *CreateRequest) (launch.Creation, error) {
	var body container.CreateRequest
	text, err := encode(req.Body)
	if err == nil {
		err = json.Unmarshal(text, &body)
	}
	if err != nil {
		return launch.Creation{}, fmt.Errorf("read the request to create a container: %w", err)
	}
	if body.Config == nil {
		body.Config = new(container.Config)
	}
	if body.HostConfig == nil {
		body.HostConfig = new(container.HostConfig)
	}
	return launch.Creation{Config: body.Config, Host: body.HostConfig, Network: body.NetworkingConfig, Platform: platform(req.Platform), Name: req.Name}, nil
}

// platform parses OS[/ARCHITECTURE[/VARIANT]].
func platform(text string) *ocispec.Platform {
	if text == "" {
		return nil
	}
	parts := append(strings.Split(text, "/"), "", "")
	return &ocispec.Platform{OS: parts[0], Architecture: parts[1], Variant: parts[2]}
}

// addTo adds a to tree, the JSON of a request. All other fields stay as they are, also those unknown to this version.
func addTo(tree map[string]any, a launch.Additions) error {
	host, err := objectAt(tree, "HostConfig")
	if err != nil {
		return err
	}
	labels, err := objectAt(tree, "Labels")
	if err != nil {
		return err
	}
	for name, value := range a.Labels {
		labels[name] = value
	}
	tree["Labels"], tree["HostConfig"] = labels, host
	tree["Env"] = a.Env
	if a.WorkingDir != "" {
		tree["WorkingDir"] = a.WorkingDir
	}
	if err := appendTo(host, "Mounts", a.Mounts); err != nil {
		return err
	}
	return appendTo(host, "ExtraHosts", a.ExtraHosts)
}

// objectAt returns the object at key. If there is none, it creates an empty one.
func objectAt(tree map[string]any, key string) (map[string]any, error) {
	switch v := tree[key].(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	}
	return nil, fmt.Errorf("%s is not an object", key)
}

// appendTo appends values, as JSON, to the list at key.
func appendTo[T any](tree map[string]any, key string, values []T) error {
	list, ok := tree[key].([]any)
	if !ok && tree[key] != nil {
		return fmt.Errorf("%s is not a list", key)
	}
	for _, value := range values {
		list = append(list, value)
	}
	if len(values) > 0 {
		tree[key] = list
	}
	return nil
}
