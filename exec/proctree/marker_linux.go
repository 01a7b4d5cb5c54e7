// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// hasMarker reports whether a process was started for the request id, or for a part of
// what id names: the marker of a shell's command names the request, a dot, and the shell.
func hasMarker(pid int, id string) bool {
	value, _ := markerOf(pid)
	if string(value) == id {
		return true
	}
	for part := range bytes.SplitSeq(value, []byte(".")) {
		if string(part) == id {
			return true
		}
	}
	return false
}

// markerOf returns the marker of a process, and whether it has an environment. For a moment
// of its exec it has none.
func markerOf(pid int) (value []byte, ok bool) {
	env := environ(pid)
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if v, ok := bytes.CutPrefix(kv, []byte(Marker+"=")); ok {
			return v, true
		}
	}
	return nil, len(env) > 0
}

// hasVariable reports whether a process was started with marker in its environment, NAME=VALUE
// or only NAME=. Of one that lets nobody read that, as agents which hold keys do, it
// cannot be said that it was not.
func hasVariable(pid int, marker string) bool {
	return hasVariablePrefix(environ(pid), marker) || unix.Access(environFile(pid), unix.R_OK) == unix.EACCES
}

func environFile(pid int) string { return "/proc/" + strconv.Itoa(pid) + "/environ" }

// environ is the environment that a process was started with.
func environ(pid int) []byte { return readProcFile(environFile(pid)) }

// hasVariablePrefix reports whether a variable of env begins with text.
func hasVariablePrefix(env []byte, text string) bool {
	return bytes.HasPrefix(env, []byte(text)) || bytes.Contains(env, []byte("\x00"+text))
}
