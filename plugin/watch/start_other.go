// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package watch

import (
	"errors"
	"os"
	"runtime"
)

const (
	// Supported says whether sessions of containers can be served on this system.
	Supported = false
	// OnHost says whether the sessions of agents can be served that are processes of this system's.
	OnHost = false
)

var errSystem = errors.New("sessions are not supported on " + runtime.GOOS)

// Start fails: the socket carrier needs the container's kernel to be this host's.
func Start(string, []string, ...*os.File) (*Link, error) { return nil, errSystem }

// Keep is never started here.
func Keep([]string) int { return 125 }

// Uplink returns nothing: there is no link.
func Uplink() *os.File { return nil }

var stdio = [3]int{-1, -1, -1}

func closeStdio() {}
