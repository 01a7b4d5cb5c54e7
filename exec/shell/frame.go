// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// In a container or a sandbox this package runs in the program hostexec-shell: see Serve. The two sides exchange frames
// over the program's stdin and stdout. A frame is a kind, the number of a command, the length of the payload in four
// bytes, big endian, and the payload.
//
//	host -> program:  setup  (run | cancel | credit)*  end
//	program -> host:  ready | refused  (state | started | stdout | stderr | done)*  over
//
// The container, or a text in the sandbox, controls the program. Lengths in its frames are checked before memory is
// allocated. On this host, the frames of a command determine only the result of that command.

type frameKind byte

const (
	frameSetup  frameKind = 1 + iota // setupRequest; the first frame
	frameRun                         // runRequest
	frameCancel                      // ends a command; the grace period in milliseconds
	frameCredit                      // allows that many more bytes of a command's output
	frameEnd                         // ends all; the grace period in milliseconds

	frameReady   // the program can run commands
	frameRefused // it cannot: the reason
	frameState   // pid of bash, and the directory where bash is
	frameStarted // pid of the process that runs a command
	frameStdout  // output of a command
	frameStderr
	frameDone // runResult; the command's last frame
	frameOver // nothing is left; the last frame
)

const (
	frameHeader = 1 + 4 + 4
	maxRequest  = 16 << 20  // bytes of a frame of the host's, which may have a long text
	maxOutput   = 32 << 10  // bytes of output in a frame
	maxReply    = 8 << 10   // bytes of any other frame of the program's
	outputAhead = 256 << 10 // bytes of a command's output that may be on the way, not passed on yet
)

// setupRequest describes the shell of the program.
type setupRequest struct {
	ID           string // random; the session of the processes that the program starts
	Bash         []byte // the program; empty: the bash of PATH
	Env          [][]byte
	Dir          []byte // where the shell starts; empty: where the program does
	ByContainer  bool
	DefaultDir   bool
	ReplyTimeout int64 // milliseconds
}

// runRequest is a command.
type runRequest struct {
	ID, Text, Dir []byte
	Env           [][]byte
	Start         bool     // in a copy of the shell
	Base          [][]byte // environment of a new bash, over the program's own
	ByHost        bool
}

// runResult is the result of a command.
type runResult struct {
	How  string // one of the constants below
	Code int
	Text string
}

const (
	resultExit       = "exit"       // by itself, with Code
	resultTerminated = "terminated" // bash has ended, with Code
	resultUntrusted  = "untrusted"  // it did not start: see UntrustedError
	resultCanceled   = "canceled"   // by the host
	resultFailed     = "failed"     // Text is the reason
)

// frame is one frame. The payload is valid until the next one is read.
type frame struct {
	kind    frameKind
	command uint32
	payload []byte
}

// errInvalid means that the other side has sent something invalid.
var errInvalid = errors.New("invalid data was received")

// appendFrame appends a frame to b.
func appendFrame(b []byte, kind frameKind, command uint32, payload []byte) []byte {
	b = binary.BigEndian.AppendUint32(append(b, byte(kind)), command)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}

// readFrame reads a frame into f, and reuses its memory. limit returns the longest payload of a kind, or a
// negative number if the other side must not send it.
func readFrame(r io.Reader, f *frame, limit func(frameKind) int) error {
	var head [frameHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	f.kind, f.command = frameKind(head[0]), binary.BigEndian.Uint32(head[1:])
	n := binary.BigEndian.Uint32(head[5:])
	if most := limit(f.kind); most < 0 || uint64(n) > uint64(most) {
		return fmt.Errorf("%w: a frame of kind %d with %d bytes", errInvalid, f.kind, n)
	}
	if uint64(n) > uint64(cap(f.payload)) {
		f.payload = make([]byte, n)
	}
	f.payload = f.payload[:n]
	_, err := io.ReadFull(r, f.payload)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// hostLimit is readFrame's limit for the frames of the host.
func hostLimit(k frameKind) int {
	switch k {
	case frameSetup, frameRun:
		return maxRequest
	case frameCancel, frameCredit, frameEnd:
		return 8
	}
	return -1
}

// programLimit is readFrame's limit for the frames of the program.
func programLimit(k frameKind) int {
	switch k {
	case frameStdout, frameStderr:
		return maxOutput
	case frameReady, frameOver:
		return 0
	case frameStarted:
		return 8
	case frameRefused, frameState, frameDone:
		return maxReply
	}
	return -1
}

// encodeNumber returns n as a payload, and number is the inverse. A number is never negative.
func encodeNumber(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func number(payload []byte) (int64, error) {
	if len(payload) != 8 || payload[0] > 0x7f {
		return 0, errInvalid
	}
	return int64(binary.BigEndian.Uint64(payload)), nil
}

// encoded returns v as a payload. It cannot fail: all of these types can be encoded.
func encoded(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}

func byteStrings(list []string) (all [][]byte) {
	for _, s := range list {
		all = append(all, []byte(s))
	}
	return all
}

func stringsOf(list [][]byte) (all []string) {
	for _, b := range list {
		all = append(all, string(b))
	}
	return all
}
