// SPDX-License-Identifier: Apache-2.0

// Package hostcode finds the code that a command on the host runs: its program, the program's interpreters and
// libraries, and the variables and settings that name more. It reports the code that a container can write. From the
// command's environment, it removes the variables and entries of PATH that name such code.
package hostcode
