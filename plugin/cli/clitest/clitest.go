// SPDX-License-Identifier: Apache-2.0

// Package clitest makes a docker command line for tests of verbs. It has no terminal and asks no engine.
package clitest

import (
	"io"
	"strings"
	"testing"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/streams"
)

// New returns a docker command line that has no input, and whose output and errors go to out.
func New(t *testing.T, out io.Writer) *command.DockerCli {
	t.Helper()
	dockerCLI, err := command.NewDockerCli(command.WithOutputStream(out), command.WithErrorStream(out),
		command.WithInputStream(streams.NewIn(io.NopCloser(strings.NewReader("")))))
	if err != nil {
		t.Fatal(err)
	}
	return dockerCLI
}
