// SPDX-License-Identifier: Apache-2.0

// Command hostexec is the shim: it runs in a container in place of a command of the host, and sends the call to the
// host. It has no privilege and makes no security decision: the host does. Under another name it is the first process
// of a call container.
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
