// SPDX-License-Identifier: Apache-2.0

// Package proctree starts processes and ends what grows from them.
//
//	run -> Keep (keeper) -> watcher: Parent -> Child -> ... its tree
//	                                        -> Monitor (a tty call) -> Child -> ...
//	                                        -> Supervisor (a shell) -> Child -> ... and its orphans
//
// Its one law: a process is signalled before it is reaped and by nothing that may
// meanwhile name another one; so a tree ends whole, and only it does. Trees end however
// they grew: threads that fork, new sessions, double forks. It does not decide when,
// and it moves no bytes.
package proctree

import (
	"os"
	"time"
)

// MonitorName is the argv[0] under which this program is the monitor of a tty call, or becomes
// a command. A main that imports executor calls Monitor when it has it.
const MonitorName = "hostexec-monitor"

// KeeperName is the argv[0] of a session's topmost process, below which all others are.
const KeeperName = "hostexec-keeper"

// Marker names the variable that ties a process to the request which started it,
// whoever its parent has become.
const Marker = "HOSTEXEC_REQUEST_ID"

// SessionMarker names the variable that ties a process to the session whose watcher started it.
const SessionMarker = "HOSTEXEC_SESSION"

// leaveMarker names the variable by which those are known that stay when all else ends,
// once the request that started them is answered.
const leaveMarker = "HOSTEXEC_LEAVE"

// DefaultGrace is how long a tree has between TERM and KILL.
const DefaultGrace = 5 * time.Second

// Keeper is a process that outlives one other, the watcher, to end what it leaves.
type Keeper struct {
	Grace time.Duration // DefaultGrace when zero
}

// Keep starts args[0], an absolute path, with stdout and stderr on /dev/null and extra from
// descriptor 3 on, passes TERM, INT and HUP on to it, and when it dies, however it
// does, ends every process that descends from it; but if it exits with 0, which says that
// it has ended its own, what carries leaveMarker stays. It returns the watcher's exit code.
// The process must have no other children.
//
// The watcher's stdin is a pipe on which nothing comes. It ends when the keeper dies, so that
// the watcher can end its own commands then.
func (k Keeper) Keep(args, env []string, extra []*os.File) int { return k.keep(args, env, extra) }

// Monitor is the main function of the process between a terminal and the command that
// runs on it, and of one that becomes a command whose exec may wait; args are the process's own.
// It returns its exit code.
func Monitor(args []string) int { return runAs(args) }

// BecomeSubreaper makes this process the parent of descendants that lose theirs.
func BecomeSubreaper() error { return becomeSubreaper() }

// DefaultSignals makes commands start with default signals although this process was
// started with some of them ignored (as by nohup, or & in a script). They still do
// nothing to this process.
func DefaultSignals() { defaultSignals() }

// Tree returns the processes that were started for the request id and are alive: those that
// a Parent started, and what descends from them wherever it went.
func Tree(id string) []int { return treeOf(id) }
