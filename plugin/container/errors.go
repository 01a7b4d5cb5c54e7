// SPDX-License-Identifier: Apache-2.0

package container

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

// Errors of the engine, with hints about what to do. Callers get both.

// missingImage means that the image does not exist. Images are not pulled for calls.
type missingImage struct{ image, host string }

func (m missingImage) Error() string {
	return "the engine" + atHost(m.host) + " has no image " + m.image
}

// Hint returns what to do about it.
func (m missingImage) Hint() string {
	return dockerCommand(m.host) + " pull " + m.image + " on the host: images are not pulled for calls"
}

// badImage means that the name is not valid for an image.
type badImage struct{ image, host string }

func (b badImage) Error() string { return strconv.Quote(b.image) + " cannot be the name of an image" }

// Hint returns what to do about it.
func (b badImage) Hint() string {
	return dockerCommand(b.host) + " image ls on the host lists the images"
}

// missingNetwork means that the network does not exist.
type missingNetwork struct{ network, host string }

func (m missingNetwork) Error() string {
	return "the engine" + atHost(m.host) + " has no network " + m.network
}

// Hint returns what to do about it.
func (m missingNetwork) Hint() string {
	return dockerCommand(m.host) + " network ls on the host lists the networks"
}

// unresponsiveEngine means that the engine does not answer.
type unresponsiveEngine struct {
	host string
	err  error
}

func (s unresponsiveEngine) Error() string {
	return "the engine" + atHost(s.host) + " does not answer: " + s.err.Error()
}

func (s unresponsiveEngine) Unwrap() error { return s.err }

// Hint returns what to do about it.
func (s unresponsiveEngine) Hint() string {
	return dockerCommand(s.host) + " info on the host shows the details"
}

// remoteEngine means that the engine does not see this host's files.
type remoteEngine struct{ host string }

func (a remoteEngine) Error() string {
	return "the engine" + atHost(a.host) + " does not see this host's directories"
}

// Hint returns what to do about it.
func (a remoteEngine) Hint() string { return sameHost }

// sameHost is the hint for engines that do not share this host's files or sockets.
const sameHost = "choose an engine on this host, such as docker_host=unix:///var/run/docker.sock, or change where"

// unreachableSocket means that the engine sees this host's files, but sockets do not work across (a virtual
// machine).
type unreachableSocket struct{ host string }

func (u unreachableSocket) Error() string {
	return "sockets of this host do not work in containers of the engine" + atHost(u.host)
}

// Hint returns what to do about it.
func (u unreachableSocket) Hint() string { return sameHost }

// endedEarly returns the error for a container of p that ended with code before its command started. CodeFailed
// means that the first process could not connect to this host.
func endedEarly(code int64, p Spec) error {
	if code == wire.CodeFailed {
		return unreachableSocket{p.Host}
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
	switch {
	case err == nil:
		return nil
	case client.IsErrConnectionFailed(err), errors.Is(err, context.DeadlineExceeded):
		return unresponsiveEngine{p.Host, err}
	case errdefs.IsNotFound(err) && strings.Contains(strings.ToLower(err.Error()), "no such image"):
		return missingImage{p.Image, p.Host}
	case errdefs.IsInvalidArgument(err) && strings.Contains(err.Error(), "invalid reference format"):
		return badImage{p.Image, p.Host}
	case errdefs.IsNotFound(err) && p.Network != "" && strings.Contains(err.Error(), "network "+p.Network+" not found"):
		return missingNetwork{p.Network, p.Host}
	case strings.Contains(err.Error(), "path does not exist: "+dir):
		return remoteEngine{p.Host}
	}
	return err
}
