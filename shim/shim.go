// SPDX-License-Identifier: Apache-2.0

// Package shim is the program that runs in place of a command such as make, in a container or for an agent on the host.
// It is the caller's side of a call. As hostexec relay, the same program is the relay.
//
//	look at 0 1 2 -> dial -> Exec + descriptors -> Started -> Stdin Signal ... Exit -> end as the command ended
//
// The shim makes no decisions, and never reports success by itself. The host chooses the command, decides whether it
// may run, and sends its output. In a call, exit code zero comes only from the host: from its Exit frame, or from its
// file of the exit code. A connection that ends without Exit gives 125.
//
// If there is no host to connect to but a directory for requests, the call is made by files.
//
// The host parses the arguments and has the verbs, for every carrier. The shim itself recognises hostexec relay, and
// hostexec logs and wait, which have no time limit. It reads the call's time limit and, for calls by files, the
// command's name. It is started for each call, so the work before the request is the cost of a call. It makes few
// system calls. It subscribes to signals only after the request is sent or while it waits for a carrier. It allocates
// buffers for streams only if they are copied. It does not import fmt, net, encoding/json, log or flag. Its size grows
// in steps of 64 KiB. Small functions with many callers are not inlined, which keeps it below the next step.
package shim

// Main makes the call with args and env, and returns the exit code. If the command died of a signal that
// the shim can die of too, Main does not return. The process must end after Main, because goroutines that
// wait for stdin or signals end only with it.
//
// EXIT STATUS: the command's own, or 128+n after signal n; 124 timeout, 125 hostexec failed, 126 refused or not
// executable, 127 not found or not proxied.
func Main(args, env []string) int { return run(args, env) }
