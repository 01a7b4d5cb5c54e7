// SPDX-License-Identifier: Apache-2.0

// Package exec is an overview of the packages of the host side; it holds no code.
//
//	conn -> call -> policy -> (approval) -> audit -> executor -> proctree
//	         |                                          |
//	        verb                                       mount -> dir
//
// Package call serves a request: policy decides, approval asks a person, and audit records the decision. Package
// executor runs the command in a directory that mount finds and dir holds. Package recording stores the output if a
// rule requires it, limit counts the resources of a session, and proctree ends the process tree. Only call imports all
// of them. Package verb answers the calls of hostexec itself, such as hostexec ps; call uses it through an interface.
// Package gitpush answers the container's git, and pushes with the host's. Nothing below exec imports plugin or depends
// on Docker. Package names has the forms of names and texts, and osenv reads environments.
package exec
