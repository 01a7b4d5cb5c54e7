// SPDX-License-Identifier: Apache-2.0

package shell

import "context"

// process runs the commands of one shell: hostProcess on this host, remoteProcess in a container or a sandbox.
type process interface {
	// run runs c. The caller holds the turn. With c.Copy, run calls release when the shell can take another command.
	run(ctx context.Context, b StartConfig, c Command, o Output, release func()) (int, error)

	confined() bool     // whether it runs in a sandbox on this host
	usable() bool       // whether it takes commands
	pid() int           // of bash; 0 when bash does not run
	cwd() string        // where bash is; "" if that is unknown
	kill()              // ends it and all that it runs; does not wait
	ended() bool        // whether it has ended; a dead shell on this host may have left processes
	wait()              // waits until it has ended
	hasLeftovers() bool // whether anything of it is left
	removeLeftovers()   // ends the processes that an ended one has left, and waits
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
