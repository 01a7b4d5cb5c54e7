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

// request is a request, read once. It is the caller's, or a refusal of it.
type request struct {
	id         string
	owner      dir.Entry // whose the request was
	exec       wire.Exec
	hasCmdFile bool // it came with a .cmd: its caller reads .status
	alive      bool // its caller says that it changes <id>.alive
	heartbeat  bool // its caller touches .heartbeat

	refusal string // what the caller is told instead
	code    byte
}

// ownEntry is the owner of what is our own.
var ownEntry = dir.Entry{UID: -1}

const (
	// settling is how long a request that may be half written has to become whole.
	settling = 100 * time.Millisecond
	// waiting is how old a request may be: who made it has given up by then.
	waiting = 5 * time.Minute
	// ambiguous is the code of a request of which nobody knows what it is to run.
	ambiguous = 2
)

// readRequest reads the request of id and claims it. It reports false when there is none for us.
// What is no plain file is removed unread; nobody is answered who could have put anything in.
func (l *Listener) readRequest(p *requestDir, id string) (ask request, ok bool) {
	text, e, err := p.Dir.Read(id+".req", wire.MaxExec)
	switch {
	case errors.Is(err, fs.ErrNotExist), err != nil && e.Inode == 0: // not there, or out of descriptors
		return ask, false
	case !e.Regular:
		if !e.Dir {
			p.Dir.Remove(id + ".req")
		}
		return ask, false
	}
	side := l.sidecar(p, id)
	if !p.settled(id, text, side, e, err) {
		return ask, false
	}
	ask = request{id: id, owner: e, hasCmdFile: side != nil}
	if !p.allows(e) {
		ask.refuse(wire.CodeFailed, "the request belongs to uid %d, for which this proxy is not open", e.UID)
	}
	ask.parse(p, text, side, err)
	if ask.refusal == "" && !ask.choose(p, side) {
		return ask, false // another process's
	}
	if time.Since(e.Mod) > waiting {
		ask.refuse(wire.CodeTimeout, "the request is older than %s: nobody waits for it any more", waiting)
	}
	if p.call(id) != nil { // two of one id: the files are the first one's
		p.Dir.Remove(id + ".req")
		return ask, false
	}
	// Who removes it has it. Of two processes that read it only one does.
	if p.Dir.Remove(id+".req") != nil {
		return ask, false
	}
	delete(p.empty, id)
	ask.heartbeat = !ask.alive && p.hasHeartbeat(e, time.Now())
	if l.over() {
		ask.refuse(wire.CodeFailed, "the proxy is shutting down")
	}
	return ask, true
}

// allows reports whether a file may come from its owner.
func (p *requestDir) allows(e dir.Entry) bool { return p.Allows == nil || p.Allows(e.UID) }

// sidecar is what <id>.cmd says, or nil.
func (l *Listener) sidecar(p *requestDir, id string) []string {
	text, e, err := p.Dir.Read(id+".cmd", wire.MaxExec)
	if err != nil || !p.allows(e) {
		return nil
	}
	return fields(text)
}

// settled reports whether a request is whole. One that was written in place, and not put
// there by a rename as it should, can be seen before its end: an argument without its NUL,
// or nothing at all, which would mean the command without arguments.
func (p *requestDir) settled(id string, text []byte, side []string, e dir.Entry, err error) bool {
	if err != nil || side != nil || len(text) > 0 && text[len(text)-1] == 0 {
		return true
	}
	first, seen := p.empty[id]
	if !seen {
		if len(p.empty) < maxFlying {
			p.empty[id] = time.Now()
		}
		return false
	}
	return time.Since(first) >= settling
}

// fields takes apart what is delimited by NUL. The last one's may be missing.
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

// parse makes the call of what was read.
func (a *request) parse(p *requestDir, text []byte, side []string, err error) {
	switch {
	case dir.TooLong(err):
		a.refuse(wire.CodeFailed, "the request has more than %d bytes", wire.MaxExec)
	case err != nil:
		a.refuse(wire.CodeFailed, "the request cannot be read on the host: %v", errors.Unwrap(err))
	case len(text) > 0 && text[len(text)-1] != 0:
		a.refuse(wire.CodeFailed, "the request is not whole: each argument ends with a NUL byte")
	}
	a.exec = wire.Exec{FDs: [3]wire.FD{wire.FDNull, wire.FDFile, wire.FDFile}, Args: []string{""}, Cwd: p.Cwd()}
	if err == nil {
		a.exec.Args = append(a.exec.Args, fields(text)...)
	}
	for _, f := range side[min(len(side), 1):] {
		switch key, value, _ := strings.Cut(f, "="); key {
		case "cwd":
			a.exec.Cwd = value
		case "env":
			a.exec.Env = append(a.exec.Env, value)
		case "alive":
			a.alive = value == "1"
		case "out":
			a.exec.SameOut = value == "one"
		case "stdin":
			if value == "stream" {
				a.exec.FDs[0] = wire.FDPipe
			}
		}
	}
	// Clients of before there was a .cmd put all of stdin there first.
	if e, err := p.Dir.Stat(a.id + ".stdin"); side == nil && err == nil && e.Regular {
		a.exec.FDs[0] = wire.FDFile
	}
}

// choose finds out which command is called. It reports false when that is another
// process's, which serves the same directory.
func (a *request) choose(p *requestDir, side []string) bool {
	var others []string
	if p.Others != nil {
		others = p.Others()
	}
	name := ""
	switch {
	case len(side) > 0:
		name = strings.TrimSuffix(side[0], "\n")
	case len(p.Commands) == 1 && len(others) == 0:
		name = p.Commands[0]
	default:
		a.refuse(ambiguous, "ambiguous: %s are called in this directory, and the request does not say which one (its .cmd does)",
			strings.Join(append(slices.Clone(p.Commands), others...), ", "))
		return true
	}
	switch {
	case slices.Contains(p.Commands, name):
		a.exec.Args[0] = name
	case slices.Contains(others, name):
		return false
	default:
		a.refuse(wire.CodeNotFound, "its .cmd names a command that is not served here: %s are", strings.Join(p.Commands, ", "))
	}
	return true
}
