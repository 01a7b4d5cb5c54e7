// SPDX-License-Identifier: Apache-2.0

package call

// What tests of package call_test, which may use verbs, see of the inside.

const (
	MaxShown = maxShown
	MaxCopy  = maxCopy
	Chunk    = firstRead
	MaxEarly = maxEarly
)

// Copied returns how many bytes of operands the session has copied.
func Copied(s *Server) int64 { return s.copied.Load() }

// CountProcesses counts the processes of all calls now, and returns how many there are then.
func CountProcesses(s *Server) int64 { return s.counter.count(s) }

// TooManyProcesses returns why the next call is refused, or nil.
func TooManyProcesses(s *Server) error { return s.counter.full(s) }

// SumRefusals writes down how many refusals have no record.
func SumRefusals(s *Server) { s.refused.sum(s.Log) }

// AddRunning makes a call with that id, which runs nothing.
func AddRunning(s *Server, id string) { s.running.set(Running{Request: id}, nil) }

// KillByContainer ends the command of a request as hostexec kill does, and does not wait for its end.
func KillByContainer(s *Server, id string) { s.running.kill(id, errKilledByContainer) }
