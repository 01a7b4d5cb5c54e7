// SPDX-License-Identifier: Apache-2.0

package call

import (
	"slices"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A command gets a terminal only if the caller's stdin and stdout both are one. In git push 2>&1 |
// tee log they are not: a program that then asks for a passphrase on /dev/tty finds none there,
// and its own message does not say why.

// promptFailed are the exit codes of git and ssh for such a failure, among others.
var promptFailed = []int{128, 255}

// explainMissingTerminal adds to e that the command had no terminal, if its caller has one and the command seems
// to have failed for that reason.
func (r *request) explainMissingTerminal(e wire.Exit, v policy.Verdict) wire.Exit {
	half := slices.Contains(r.fds[:], wire.FDTTY) && !(r.fds[0] == wire.FDTTY && r.fds[1] == wire.FDTTY)
	if half && !r.detached && v.Profile.Whole && slices.Contains(promptFailed, int(e.Code)) {
		e.Text = Line("%s: hint: it had no terminal to ask on, because stdin and stdout are not both a terminal: call it without a pipe", quoteWord(r.Args[0]))
	}
	return e
}
