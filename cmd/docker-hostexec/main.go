// SPDX-License-Identifier: Apache-2.0

// Command docker-hostexec is the docker hostexec plugin: it runs containers whose
// programs may call commands of this host. It protects the host from calls that its
// user did not allow, and not from what the allowed ones do.
package main

import (
	"os"

	"github.com/docker-hostexec/hostexec/plugin"
	"github.com/docker-hostexec/hostexec/shim"
)

func main() {
	if shim.Called(os.Args, os.Environ()) { // an agent of a system that has no shims calls it so
		os.Exit(shim.Main(os.Args, os.Environ()))
	}
	os.Exit(plugin.Main())
}
