// SPDX-License-Identifier: Apache-2.0

package state

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
)

// Service is the service of a compose project that a session is for, or a dev container. It has the service's
// containers, one after the other or several that are alike, for as long as there are any.
type Service struct {
	Project  string `json:"project"`
	Name     string `json:"name"`
	Oneoff   bool   `json:"oneoff,omitempty"`   // the one container of compose run, and no other
	Provided bool   `json:"provided,omitempty"` // begun by compose, of which hostexec is a provider
}

// Devcontainers is the project that dev containers belong to; their names are the tool's ids.
// No project of compose's has such a name.
const Devcontainers = "-devcontainers"

// The labels by which compose knows its containers.
const (
	LabelProject = "com.docker.compose.project"
	LabelService = "com.docker.compose.service"
	LabelOneoff  = "com.docker.compose.oneoff"
)

// LabelDevcontainer is a dev container's, with the tool's id of it.
const LabelDevcontainer = "io.hostexec.devcontainer"

// ServiceID returns the id of the session for a service of a project on the engine at
// endpoint. It is the same each time: what compose makes of it must not change by itself.
func (s *Store) ServiceID(endpoint, project, service string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{s.Home, endpoint, project, service}, "\x00")))
	return hex.EncodeToString(sum[:6])
}

// ServiceShare returns a path that leads to the share of a service's session, for those who
// write compose files. It is a symbolic link, which a provider's up makes.
func (s *Store) ServiceShare(project, service string) string {
	return filepath.Join(s.Home, "services", project, service)
}

// ServicesLock returns the file that is locked while sessions of services are made.
func (s *Store) ServicesLock() string { return filepath.Join(s.Home, "services.lock") }

// LeaseFile is locked, shared, by each compose that may make containers of the session's
// service; and exclusively by the watcher, once it is about to end. Its modification time is
// when a provider said that there will be one, or long ago.
func LeaseFile(session string) string { return filepath.Join(session, "lease") }

// OverrideFile is what a session adds to its project's compose files.
func OverrideFile(session string) string { return filepath.Join(session, "compose.yaml") }
