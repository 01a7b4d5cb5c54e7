// SPDX-License-Identifier: Apache-2.0

// Command hostexec is what runs in a container in place of a command of the host's. It
// asks the host, and whatever the host may not be asked it cannot do: it holds no
// privilege and protects nobody. That is the host's business. By another name it is the first
// process of a container that the host makes for one command.
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
