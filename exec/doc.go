// SPDX-License-Identifier: Apache-2.0

// Package exec is an overview of the packages of the host side; it holds no code. An arrow
// means that the package on its left imports the packages on its right.
//
//	verb -> call -> policy
//	             -> approval -> inputs
//	             -> audit, recording, limit
//	             -> git -> mount -> dir
//	             -> job, shell, gitpush -> executor -> proctree, sandbox
//	             -> hostcode
//
// Package call serves a request: policy decides, approval asks a person, and audit records the decision. Package
// executor runs the command in a directory that mount finds and dir holds. Package recording stores the output if the
// configuration requires it, limit counts the resources of a session, and proctree ends the process tree.
//
// Package inputs finds the files that decide what a command runs, and git detects commands of git that may run programs
// of the repository. Package job keeps commands that continue without their callers, shell keeps shells with state, and
// sandbox confines commands. Package hostcode finds the code of a command that a container can write. Only call
// imports all of these.
//
// Package verb answers the calls of hostexec itself, such as hostexec ps; call uses it through an interface.
// Package gitpush answers the container's git, and pushes with the host's. Nothing below exec imports plugin or depends
// on Docker. Package names has the forms of names and texts, osenv reads environments, flags corrects mistyped flags,
// and broadcast wakes those that wait for a change.
package exec
