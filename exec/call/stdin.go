// SPDX-License-Identifier: Apache-2.0

package call

import (
	"fmt"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// An agent talks to its client over stdin, and the programs that it starts inherit that. Some carriers read
// a call's stdin before the command does. Such a call would consume the client's next messages although its
// command reads nothing. Therefore calls of an agent read /dev/null.

// stdinVariable is an environment variable of a caller: null means /dev/null, and auto, in an agent,
// the caller's stdin.
const stdinVariable = "HOSTEXEC_STDIN"

// chooseStdin drops the caller's stdin if the caller wants that, or if it is an agent. A terminal carries
// no messages and stays. An unknown value is an error: with a mistyped null, the command would read the caller's stdin.
func (r *request) chooseStdin(agent bool) error {
	switch value := osenv.Get(r.env, stdinVariable); value {
	case "auto":
	case "null":
		r.drop(0)
	case "":
		if agent && r.fds[0] != wire.FDTTY {
			r.drop(0)
		}
	default:
		return fmt.Errorf("%s: want null or auto: %s", stdinVariable, names.Printable(Truncate(value)))
	}
	return nil
}
