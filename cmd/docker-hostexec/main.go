// SPDX-License-Identifier: Apache-2.0

// Command docker-hostexec is the docker hostexec plugin: it runs containers whose programs may call commands of this
// host. It protects the host from calls that its user did not allow, but not from the effects of allowed calls.
package main

import (
	"os"

	"github.com/docker-hostexec/hostexec/plugin"
)

func main() { os.Exit(plugin.Main()) }
