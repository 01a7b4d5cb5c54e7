// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// engineError is an error of the engine with a hint. Callers get both.
type engineError struct {
	text, hint string
	cause      error // or nil
}

func (e engineError) Error() string { return e.text }
func (e engineError) Unwrap() error { return e.cause }

// Hint returns a command to type, or advice in words.
func (e engineError) Hint() string { return e.hint }

// unresponsive returns the error for an engine that does not answer.
func unresponsive(host string, err error) error {
	return engineError{"the engine" + atHost(host) + " does not answer: " + err.Error(), dockerCommand(host) + " info on the host shows the details", err}
}

// sameHost is the hint for engines that do not share this host's files or sockets.
const sameHost = "choose an engine on this host, such as docker_host=unix:///var/run/docker.sock, or change where"

// endedEarly returns the error for a container of p that ended with code before its command started. CodeFailed
// means that the first process could not connect to this host.
func endedEarly(code int64, p Spec) error {
	if code == wire.CodeFailed {
		return engineError{text: "sockets of this host do not work in containers of the engine" + atHost(p.DockerHost), hint: sameHost}
	}
	return fmt.Errorf("the container ended with %d before its command began", code)
}

func atHost(host string) string {
	if host == "" {
		return ""
	}
	return " at " + host
}

// dockerCommand returns the docker command line for the engine at host.
func dockerCommand(host string) string {
	if host == "" {
		return "docker"
	}
	return "docker --host " + host
}

// explain translates an engine error about creating a container of p. dir is the container's directory.
func explain(err error, p Spec, dir string) error {
	engine, docker := "the engine"+atHost(p.DockerHost), dockerCommand(p.DockerHost)
	switch {
	case err == nil:
		return nil
	case client.IsErrConnectionFailed(err), errors.Is(err, context.DeadlineExceeded):
		return unresponsive(p.DockerHost, err)
	case errdefs.IsNotFound(err) && strings.Contains(strings.ToLower(err.Error()), "no such image"):
		return engineError{engine + " has no image " + p.Image, docker + " pull " + p.Image + " on the host: images are not pulled for calls", nil}
	case errdefs.IsInvalidArgument(err) && strings.Contains(err.Error(), "invalid reference format"):
		return engineError{strconv.Quote(p.Image) + " cannot be the name of an image", docker + " image ls on the host lists the images", nil}
	case errdefs.IsNotFound(err) && p.Network != "" && strings.Contains(err.Error(), "network "+p.Network+" not found"):
		return engineError{engine + " has no network " + p.Network, docker + " network ls on the host lists the networks", nil}
	case strings.Contains(err.Error(), "path does not exist: "+dir):
		return engineError{engine + " does not see this host's directories", sameHost, nil}
	}
	return err
}
