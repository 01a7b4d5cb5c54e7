// SPDX-License-Identifier: Apache-2.0

// Package carrier has the common code of the carriers. A carrier is a transport of calls to the watcher: a package with
// a net.Listener whose connections are calls.
//
//	socket   a unix socket in the session's share, bind-mounted read-only
//	relay    a process in the container that carries calls over the stdin and stdout of docker exec
//	files    a directory that callers can write to, from any script
//	http     POST /request on the container's gateway, with the session's token; and
//	         exec.sock, one line of JSON over a unix socket, for tools of this host
//
// Callers over socket and relay are shims, which speak the frames of shim/wire. For other callers a carrier makes the
// call itself (Call), hands it to the server (Queue), and passes on the answers (Receiver).
//
// A listener belongs to one session, so it knows which session a call is for. No data of a connection changes that.
package carrier

import (
	"fmt"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// File is the name of the file in a session's share that names the carrier.
const File = "carrier"

// The words in File.
const (
	Undecided = "undecided" // the shim waits until the file has another word
	NoProcess = "full"      // undecided, because no process can be started in the container
	BySocket  = "socket"
	ByRelay   = "relay"
	ByFiles   = "files" // the shim calls by files, in the directory proxy
	Gone      = "gone"  // the session has ended
)

// Decide writes the name of the carrier for the shims.
func Decide(share, word string) error {
	if err := WriteFile(share, File, word); err != nil {
		return fmt.Errorf("write carrier file: %w", err)
	}
	return nil
}

// WriteFile writes a file of share that any container user may read, in one step.
func WriteFile(share, name, text string) error {
	return dir.Replace(filepath.Join(share, name), []byte(text+"\n"), 0o644)
}
