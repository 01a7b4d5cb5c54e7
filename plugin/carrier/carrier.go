// SPDX-License-Identifier: Apache-2.0

// Package carrier is the roads by which a call arrives, each of them a net.Listener.
//
//	socket   a unix socket in the session's share, bind-mounted read-only
//	files    a directory that callers can write to; any script can be one
//
// Its one law: which container calls is the listener's knowledge, for each session has
// its own; nothing that a connection says changes it. It carries bytes and descriptors
// and understands neither.
package carrier

// NameFiles is what the files carrier is called.
const NameFiles = "files"

// The names in a session's share.
const (
	Socket = "socket"  // what the shim dials
	File   = "carrier" // says which carrier to use: undecided, socket or relay; files
)
