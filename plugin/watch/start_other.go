// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package watch

import (
	"errors"
	"os"
	"runtime"
)

// Supported reports whether sessions can be served on this system.
const Supported = false

var errSystem = errors.New("sessions are not supported on " + runtime.GOOS)

// Start fails: the packages executor and proctree run commands on Linux only.
func Start(string, []string, ...*os.File) (*Conn, error) { return nil, errSystem }

// InheritedConn returns nothing: there is no connection.
func InheritedConn() *os.File { return nil }

// AgentStdio has no descriptors: agents run on Linux only.
var AgentStdio = [3]int{-1, -1, -1}

// CloseAgentStdio does nothing on this system.
func CloseAgentStdio() {}

// KeeperPipe returns nothing: there is no keeper.
func KeeperPipe() *os.File { return nil }
