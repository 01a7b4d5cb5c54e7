// SPDX-License-Identifier: Apache-2.0

// Package exec is the map of the host side; it holds no code.
//
//	conn -> call -> policy -> (approval) -> audit -> executor -> proctree
//	         |                                          |
//	        verb                                       mount -> dir
//
// Package call reads a request, has policy decide and approval ask, writes the decision to audit, runs the command by
// executor in a directory that mount finds and dir holds, and answers. Package recording stores the output if a rule says so, limit
// counts what a session uses, and proctree ends the process tree. Only call imports all of them. Package verb answers
// the calls of hostexec itself, such as hostexec ps; call reaches it by an interface. Package gitpush answers
// the container's git, which pushes by the host's; git says what a repository could make git run. Nothing below exec imports plugin
// or knows Docker. Package names has the forms of names and texts, and osenv reads environments.
package exec
