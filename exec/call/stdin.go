// SPDX-License-Identifier: Apache-2.0

package call

import (
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// An agent talks to its client over stdin, and a program that the agent starts inherits it. Some
// carriers read a call's stdin ahead of the command: one call would swallow the client's next
// messages, although its command reads nothing. So the calls of an agent read /dev/null.

// StdinVariable is an environment variable of a caller: null means /dev/null, and auto, in an agent,
// the caller's stdin.
const StdinVariable = "HOSTEXEC_STDIN"

// chooseStdin drops the caller's stdin if the caller wants that, or is an agent. A terminal
// carries no messages and stays.
func (r *request) chooseStdin(agent bool) {
	switch osenv.Get(r.env, StdinVariable) {
	case "auto":
	case "null":
		r.drop(0)
	default:
		if agent && r.fds[0] != wire.FDTTY {
			r.drop(0)
		}
	}
}
