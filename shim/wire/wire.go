// SPDX-License-Identifier: Apache-2.0

// Package wire is the words that a shim and its host speak: frames, and what is in them.
//
//	shim  Exec  Stdin* StdinEOF  Winsize*  Signal*  Credit*              -> host
//	shim <-  Notice*  Capture  Started  Stdout* Stderr*  Credit* StdinClosed  Stopped*  Exit  host
//
// Its one law: nothing that arrives is believed. A length is capped before it is
// allocated, half a frame is an error, and so is every byte that means nothing. The zero
// value of whatever tells success from failure is failure.
//
// It moves no bytes of its own and holds no state: connections, descriptors, credit and
// the order of frames are the business of the two sides.
package wire

// Version is the first byte of every Exec. A host that speaks another one says so and
// stops; a shim and a host of one release always match, as the host injects the shim.
const Version = 1

const (
	// MaxExec caps the payload of an Exec frame: the kernel's own limit for arguments
	// and environment is of that order.
	MaxExec = 2 << 20
	// MaxFrame caps the payload of every other frame.
	MaxFrame = 64 << 10
	// Window is the credit in bytes that each direction begins with.
	Window = 256 << 10
)

// Kind says what a frame is. The zero Kind is none.
type Kind byte

const (
	// KindExec is the request: the first frame, and the only one of its kind.
	KindExec Kind = 1 + iota
	// KindStdin carries bytes for a pumped stdin, within the host's credit.
	KindStdin
	// KindStdinEOF says that no more stdin will come.
	KindStdinEOF
	// KindWinsize carries the terminal's new size.
	KindWinsize
	// KindSignal carries the name of a signal that the shim was sent, or before that who gets it.
	KindSignal
	// KindCredit lets the other side send that many bytes more.
	KindCredit
	// KindNotice carries text for the shim's stderr.
	KindNotice
	// KindStarted says that the command runs, and what became of 0, 1 and 2.
	KindStarted
	// KindStdout carries bytes of a pumped stdout, within the shim's credit.
	KindStdout
	// KindStderr carries bytes of a pumped stderr, within the same credit.
	KindStderr
	// KindStdinClosed says that the command reads no more stdin.
	KindStdinClosed
	// KindStopped says that the command has been stopped, as by ^Z.
	KindStopped
	// KindCapture asks for all of stdin before the command runs: somebody is to see it.
	KindCapture
	// KindExit says how the call ended: the last frame.
	KindExit
)

// limits caps the payload of each kind; what is not listed carries none.
var limits = [KindExit + 1]int{
	KindExec:    MaxExec,
	KindStdin:   MaxFrame,
	KindWinsize: winsizeLen,
	KindSignal:  maxSignal,
	KindCredit:  creditLen,
	KindNotice:  MaxFrame,
	KindStarted: MaxFrame,
	KindStdout:  MaxFrame,
	KindStderr:  MaxFrame,
	KindExit:    MaxFrame,
}

// Error is what is wrong with bytes that were to be a frame.
type Error string

func (e Error) Error() string { return string(e) }

const (
	// ErrKind is a frame of an unknown kind, or one that this side never takes.
	ErrKind Error = "unknown kind of frame"
	// ErrTooLong is a frame longer than its kind may be.
	ErrTooLong Error = "frame too long"
	// ErrVersion is a request of another version of the protocol.
	ErrVersion Error = "another version of the protocol"
	// ErrMalformed is a payload that does not mean anything.
	ErrMalformed Error = "malformed frame"
)
