// SPDX-License-Identifier: Apache-2.0

package state

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
)

// DevContainer is the dev container of a session. The session serves several containers, one after another.
type DevContainer struct {
	Project string `json:"project"` // always Devcontainers
	Name    string `json:"name"`
}

// Devcontainers is the project of all dev containers. Their names are the dev container tool's ids.
const Devcontainers = "-devcontainers"

// LabelService is the label that compose sets on the containers of a service. Its value is the service's name.
const LabelService = "com.docker.compose.service"

// LabelDevcontainer is the label of a dev container. Its value is the dev container tool's id.
const LabelDevcontainer = "io.hostexec.devcontainer"

// DevContainerID returns the session id for a dev container, called service, of a project on the engine at endpoint.
// The id is deterministic, so that a dev container that is built again mounts the share of the same session.
func (s *Store) DevContainerID(endpoint, project, service string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{s.Home, endpoint, project, service}, "\x00")))
	return hex.EncodeToString(sum[:6])
}

// DevContainerShare returns the path of a symbolic link to the share of a dev container's session, for use in
// devcontainer.json.
func (s *Store) DevContainerShare(project, service string) string {
	return filepath.Join(s.Home, "services", project, service)
}

// DevContainersLock returns the path of the lock that is held while the session of a dev container is created.
func (s *Store) DevContainersLock() string { return filepath.Join(s.Home, "services.lock") }

// LeaseFile returns the path of a lock. A process that starts the session holds it shared, and a watcher that ends
// holds it exclusively. The modification time of the file is the time since which a container is expected. It is long
// ago if none is expected.
func LeaseFile(session string) string { return filepath.Join(session, "lease") }
