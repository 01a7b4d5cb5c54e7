// SPDX-License-Identifier: Apache-2.0

// Command hostexec is the shim: it runs in place of a command of the host, in a container or for an agent on the host.
// It sends the call to the watcher. It has no privilege on the host, and makes no security decision: the watcher does.
// In some containers, the same program is also the relay, as root of the container. Under another name, it is the first
// process of a call container.
package main

import (
	"os"

	"github.com/docker-hostexec/hostexec/shim"
	"github.com/docker-hostexec/hostexec/shim/initproc"
)

func main() {
	if initproc.Called(os.Args) {
		os.Exit(initproc.Main(os.Args, os.Environ()))
	}
	os.Exit(shim.Main(os.Args, os.Environ()))
}
