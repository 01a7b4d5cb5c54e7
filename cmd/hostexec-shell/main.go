// SPDX-License-Identifier: Apache-2.0

// Command hostexec-shell runs a shell with state, in a container or in a sandbox on the host. Its stdin and stdout are
// the connection to docker hostexec. It runs as the container's user or, in a sandbox, as the watcher's user. It makes
// no decisions.
package main

import (
	"os"

	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/exec/shell"
)

func main() {
	if os.Args[0] == proctree.HelperName {
		os.Exit(proctree.Helper(os.Args))
	}
	os.Exit(shell.Serve(os.Args))
}
