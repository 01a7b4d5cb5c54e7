// SPDX-License-Identifier: Apache-2.0

// Package shim is the container's side of a call: what runs there in place of make.
//
//	look at 0 1 2 -> dial -> Exec + descriptors -> Started -> Stdin Signal ... Exit -> end as the command ended
//
// Its one law: it decides nothing and it never makes success up. What the command is,
// whether it may run and what it wrote come from the host; zero comes only from the host's
// Exit, and a connection that ends without one is 125.
//
// Where there is no host to dial but a directory for requests, the same goes as files.
//
// It parses no arguments and has no verbs: the host does, for every carrier alike. It is
// started for each call, so whatever it does before the request is sent is what a call
// costs: it asks the kernel as little as it can, subscribes to signals behind the
// request's back, has no buffer that it does not pump through, and imports nothing of
// fmt, net, encoding/json, log or flag. Its size grows in steps of 64 KiB: small functions that
// are called in many places are not inlined, which keeps it below the next step.
package shim

// Main makes the call that args and env describe, and returns the code to exit with, or
// does not return when the command died of a signal that the shim can die of too. The
// process must end with it: what still waits for stdin or for signals ends with the process.
//
// EXIT STATUS: the command's own; 124 time was up, 125 hostexec failed, 126 refused or not
// executable, 127 not found or not proxied, 128+n died of signal n.
func Main(args, env []string) int { return run(args, env) }
