// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// request is a request, read once, or the reason why it is refused.
type request struct {
	id         string
	owner      dir.Entry // of the request
	exec       wire.Exec
	hasCmdFile bool // its caller wrote a .cmd, and reads .status

	statusInExit bool // its caller reads the status in .exit: one file less
	alive        bool // its caller announced that it changes <id>.alive
	heartbeat    bool // its caller touches .heartbeat

	refusal string // the reason why it is refused, or ""
	code    byte   // the exit code of a refused request
}

// ownEntry is the owner of files that are not for a caller.
var ownEntry = dir.Entry{UID: -1}

const (
	// settleTime is the time limit for the caller to complete a request.
	settleTime = 100 * time.Millisecond
	// maxRequestAge is the maximum age of a request: the caller of an older request has given up.
	maxRequestAge = 5 * time.Minute
	// ambiguous is the exit code for a request whose command is unknown.
	ambiguous = 2
)

// readRequest reads the request id and claims it. It returns false if there is no request for this process. It removes
// a link, pipe or device without an answer, and never reads it.
func (l *Listener) readRequest(p *servedDir, id string) (req request, ok bool) {
	text, e, err := p.Dir.Read(id+".req", wire.MaxExec)
	switch {
	case errors.Is(err, fs.ErrNotExist), err != nil && e.Inode == 0: // not there, or out of descriptors
		return req, false
	case !e.Regular:
		if !e.Dir {
			p.Dir.Remove(id + ".req")
		}
		return req, false
	}
	cmd := p.readCmd(id)
	if !p.settled(id, text, cmd, err) {
		return req, false
	}
	req = request{id: id, owner: e, hasCmdFile: cmd != nil}
	if !p.allows(e) {
		req.refuse(wire.CodeFailed, "the request belongs to uid %d, which may not use this proxy", e.UID)
	}
	req.parse(p, text, cmd, err)
	if req.refusal == "" && !req.chooseCommand(p, cmd) {
		return req, false // another process serves it
	}
	if time.Since(e.Mod) > maxRequestAge {
		req.refuse(wire.CodeTimeout, "the request is older than %s: nobody waits for it any more", maxRequestAge)
	}
	if p.call(id) != nil { // the files of this id belong to the first call
		p.Dir.Remove(id + ".req")
		return req, false
	}
	// The process that removes the request serves it: of two that read it, only one can.
	if p.Dir.Remove(id+".req") != nil {
		return req, false
	}
	delete(p.unfinished, id)
	req.heartbeat = !req.alive && p.hasHeartbeat(e, time.Now())
	if l.refusing() {
		req.refuse(wire.CodeFailed, "the proxy is shutting down")
	}
	return req, true
}

// allows reports whether a file may come from its owner.
func (p *servedDir) allows(e dir.Entry) bool { return p.Allows == nil || p.Allows(e.UID) }

// readCmd returns the fields of <id>.cmd, or nil.
func (p *servedDir) readCmd(id string) []string {
	text, e, err := p.Dir.Read(id+".cmd", wire.MaxExec)
	if err != nil || !p.allows(e) {
		return nil
	}
	return fields(text)
}

// settled reports whether a request is complete. If a caller writes it in place, instead of renaming it, the host can
// see an incomplete request. Then the last argument has no NUL yet, or the file is empty, which would mean a command
// without arguments.
func (p *servedDir) settled(id string, text []byte, cmd []string, err error) bool {
	if err != nil || cmd != nil || len(text) > 0 && text[len(text)-1] == 0 {
		return true
	}
	first, seen := p.unfinished[id]
	if !seen {
		if len(p.unfinished) < maxCalls {
			p.unfinished[id] = time.Now()
		}
		return false
	}
	return time.Since(first) >= settleTime
}

// fields splits text at NULs. The last NUL may be missing.
func fields(text []byte) []string {
	if len(text) == 0 {
		return []string{}
	}
	return strings.Split(string(bytes.TrimSuffix(text, []byte{0})), "\x00")
}

func (a *request) refuse(code byte, format string, args ...any) {
	if a.refusal == "" {
		a.refusal, a.code = fmt.Sprintf(format, args...), code
	}
}

// parse fills in the call from the files of the request.
func (a *request) parse(p *servedDir, text []byte, cmd []string, err error) {
	switch {
	case dir.TooLong(err):
		a.refuse(wire.CodeFailed, "the request has more than %d bytes", wire.MaxExec)
	case err != nil:
		a.refuse(wire.CodeFailed, "the request cannot be read on the host: %v", errors.Unwrap(err))
	case len(text) > 0 && text[len(text)-1] != 0:
		a.refuse(wire.CodeFailed, "the request is incomplete: each argument ends with a NUL byte")
	}
	a.exec = wire.Exec{FDs: [3]wire.FD{wire.FDNull, wire.FDFile, wire.FDFile}, Args: []string{""}, Cwd: p.Cwd()}
	if err == nil {
		a.exec.Args = append(a.exec.Args, fields(text)...)
	}
	for _, f := range cmd[min(len(cmd), 1):] {
		switch key, value, _ := strings.Cut(f, "="); key {
		case "cwd":
			a.exec.Cwd = value
		case "env":
			a.exec.Env = append(a.exec.Env, value)
		case "alive":
			a.alive = value == "1"
		case "exit":
			a.statusInExit = value == "status"
		case "out":
			a.exec.SameOut = value == "one"
		case "stdin":
			if value == "stream" {
				a.exec.FDs[0] = wire.FDPipe
			}
		}
	}
	// Clients without a .cmd write all of stdin before the request.
	if cmd == nil {
		if e, err := p.Dir.Stat(a.id + ".stdin"); err == nil && e.Regular {
			a.exec.FDs[0] = wire.FDFile
		}
	}
}

// chooseCommand sets the called command. It returns false if another process serves the command from this directory.
func (a *request) chooseCommand(p *servedDir, cmd []string) bool {
	var others []string
	if p.Others != nil {
		others = p.Others()
	}
	name := ""
	switch {
	case len(cmd) > 0:
		name = strings.TrimSuffix(cmd[0], "\n")
	case len(p.Commands) == 1 && len(others) == 0:
		name = p.Commands[0]
	default:
		a.refuse(ambiguous, "ambiguous: this directory serves %s, and the request has no .cmd file that names one of them",
			strings.Join(append(slices.Clone(p.Commands), others...), ", "))
		return true
	}
	switch {
	case slices.Contains(p.Commands, name):
		a.exec.Args[0] = name
	case slices.Contains(others, name):
		return false
	default:
		a.refuse(wire.CodeNotFound, "its .cmd file names a command that is not served here: served are %s", strings.Join(p.Commands, ", "))
	}
	return true
}
