// SPDX-License-Identifier: Apache-2.0

// Package proctree starts processes and ends their process trees.
//
//	launcher -> Keep (keeper) -> watcher: Parent -> Child -> ... its tree
//	                                             -> monitor (a call with a terminal) -> Child -> ...
//	                                             -> supervisor (a shell) -> Child -> ... and its orphans
//
// Its invariant: a child, or its process group, is signalled only before the child is reaped. Any other process is
// signalled by a pidfd, after a comparison of its start time. Where a pidfd cannot send signals, only the start time
// identifies the process. So a whole tree ends, and nothing else. A tree may grow by threads that fork, by new sessions
// (setsid(2)) and by double forks. The package does not decide when a tree ends, and copies no data.
package proctree

import (
	"os"
	"time"
)

// HelperName is the argv[0] of the helper processes that Helper describes. A program that imports executor calls Helper
// if it has this argv[0]: hostexec-shell in main, docker-hostexec in package keeper.
const HelperName = "hostexec-helper"

// KeeperName is the argv[0] of a session's keeper, the ancestor of all other processes of the session.
const KeeperName = "hostexec-keeper"

// Marker is the variable that connects a process with the request that started it, also after the process
// has got another parent.
const Marker = "HOSTEXEC_REQUEST_ID"

// SessionMarker is the variable that connects a process with the session whose watcher started it.
const SessionMarker = "HOSTEXEC_SESSION"

// leaveMarker is the variable of processes that survive the end of the session, once the request that started
// them has ended.
const leaveMarker = "HOSTEXEC_LEAVE"

// DefaultGrace is the default time between TERM and KILL.
const DefaultGrace = 5 * time.Second

// Keeper is the parent process of a watcher. It outlives the watcher, to end the processes that the watcher
// leaves.
type Keeper struct {
	Grace time.Duration // DefaultGrace when zero
}

// Keep starts args[0], an absolute path, as the watcher. Its stdout and stderr are /dev/null, and extra are its
// descriptors from 3 on. Keep passes TERM, INT and HUP on to it. When the watcher dies, Keep ends every process that
// descends from it. If the watcher exits with 0, it has ended its own commands. Then processes that were started with
// StartConfig.Leave stay. Keep returns the watcher's exit code. The process must have no other children.
//
// The watcher's stdin is a pipe without data. It ends when the keeper dies, so that the watcher can end its own
// commands then.
func (k Keeper) Keep(args, env []string, extra []*os.File) int { return k.keep(args, env, extra) }

// Helper is the main function of three helper processes. The monitor is between a terminal and its command. The
// supervisor is the parent of a shell, and adopts its orphans. The third becomes a command whose exec may block. args
// are the arguments of the process. Helper returns its exit code.
func Helper(args []string) int { return runHelper(args) }

// BecomeSubreaper makes this process the parent of descendants that lose theirs.
func BecomeSubreaper() error { return becomeSubreaper() }

// DefaultSignals makes commands start with default signal actions. This process may have been started with some signals
// ignored, as by nohup, or by & in a script. This process still ignores them.
func DefaultSignals() { defaultSignals() }

// Tree returns the live processes of request id: those that a Parent started, and all their descendants, also
// in other POSIX sessions and process groups.
func Tree(id string) []int { return treeOf(id) }
