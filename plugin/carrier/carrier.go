// SPDX-License-Identifier: Apache-2.0

// Package carrier is the roads by which a call arrives, each of them a net.Listener.
//
//	socket   a unix socket in the session's share, bind-mounted read-only
//	relay    a process in the container, at the other end of an exec's stdin and stdout
//	files    a directory that callers can write to; any script can be one
//	http     POST /request on the container's gateway, for who has the session's token
//	exec     one line of JSON over a unix socket, for tools of this host
//
// Its one law: which container calls is the listener's knowledge, for each session has
// its own; nothing that a connection says changes it. It carries bytes and descriptors
// and understands neither.
package carrier

import (
	"fmt"
	"path/filepath"

	"github.com/moby/sys/atomicwriter"
)

// File is the name of the file in a session's share that says which carrier to use: one of the words below.
const File = "carrier"

// The words in File.
const (
	Undecided = "undecided" // the shim waits for another word
	BySocket  = "socket"
	ByRelay   = "relay"
	ByFiles   = "files" // the shim calls by files, in the directory proxy
	Gone      = "gone"  // nobody answers
)

// Decide tells the shims which carrier to use.
func Decide(share, word string) error {
	if err := WriteFile(share, File, word); err != nil {
		return fmt.Errorf("write carrier file: %w", err)
	}
	return nil
}

// WriteFile writes a file of share that any container user may read, in one step.
func WriteFile(share, name, text string) error {
	return atomicwriter.WriteFile(filepath.Join(share, name), []byte(text+"\n"), 0o644)
}
