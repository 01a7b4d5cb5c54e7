// SPDX-License-Identifier: Apache-2.0

// Package wire defines the protocol between a shim and its host: frames and their contents. A relay carries the frames
// of many calls over one stream, in chunks.
//
//	shim  Exec  Stdin* StdinEOF  Winsize*  Signal*  Credit*              -> host
//	shim <-  Notice*  Capture  Started  Fallback  Stdout* Stderr*  Credit* StdinClosed  Stopped*  Exit  host
//
// Received data is never trusted. Lengths are limited before memory is allocated. An incomplete frame is
// an error, and so is every byte without a meaning. In values that distinguish success from failure, zero
// means failure.
//
// The package does no I/O except ReadFrame and holds no state. The two sides handle connections,
// descriptors, credit and the order of frames.
package wire

// Version is the first byte of every Exec and Hello. A host with another version refuses it, and says so. The host
// injects the shim, so usually both are of one release. After an update of the host, a container can have an older
// shim.
const Version = 1

const (
	MaxExec  = 2 << 20   // bytes of an Exec's payload; the kernel's limit for arguments and environment is of this order
	MaxFrame = 64 << 10  // bytes of the payload of every other frame
	Window   = 256 << 10 // the initial credit in bytes in each direction
)

// Kind is the kind of a frame. The zero Kind is invalid.
type Kind byte

const (
	KindExec        Kind = 1 + iota // the request: the first frame of a call, sent once
	KindStdin                       // bytes for a copied stdin, within the host's credit
	KindStdinEOF                    // stdin has ended
	KindWinsize                     // the terminal's new size
	KindSignal                      // the name of a signal that the shim got, or the target of the next signal
	KindCredit                      // the other side may send that many more bytes
	KindNotice                      // text for the shim's stderr
	KindStarted                     // a Started
	KindStdout                      // bytes of a copied stdout, within the shim's credit
	KindStderr                      // bytes of a copied stderr, within the same credit
	KindStdinClosed                 // the command has closed its stdin
	KindStopped                     // the command was stopped, for example by ^Z
	KindCapture                     // requests all of stdin before the command runs, so that it can be shown
	KindExit                        // the result of the call: the last frame
	// KindFallback carries the beginning of a JSON object. If the shim ends the call without an Exit, it
	// completes the object with the exit code and the reason, and writes it to stdout. An old shim knows only
	// the kinds before this one.
	KindFallback
)

// limits is the maximum payload length of each kind; kinds that are not listed have no payload.
var limits = [KindFallback + 1]int{
	KindExec:     MaxExec,
	KindStdin:    MaxFrame,
	KindWinsize:  winsizeLen,
	KindSignal:   maxSignal,
	KindCredit:   creditLen,
	KindNotice:   MaxFrame,
	KindStarted:  MaxFrame,
	KindStdout:   MaxFrame,
	KindStderr:   MaxFrame,
	KindExit:     MaxFrame,
	KindFallback: MaxFrame,
}

// Error is an error of the protocol.
type Error string

func (e Error) Error() string { return string(e) }

const (
	ErrKind      Error = "unknown kind of frame" // or of a kind that this side does not accept
	ErrTooLong   Error = "frame too long"        // for its kind
	ErrVersion   Error = "another version of the protocol"
	ErrMalformed Error = "malformed frame" // an invalid payload
)
