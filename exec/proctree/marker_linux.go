// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// hasMarker reports whether a process was started for the request id, or for a command of a shell of that
// request. The marker of a shell's command is the request, a dot, and the shell.
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

// markerOf returns the marker of a process, and whether the process has an environment. During its exec it has
// none for a moment.
func markerOf(pid int) (value []byte, ok bool) {
	env := environ(pid)
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if v, ok := bytes.CutPrefix(kv, []byte(Marker+"=")); ok {
			return v, true
		}
	}
	return nil, len(env) > 0
}

// hasVariable reports whether a process was started with marker, NAME=VALUE or only NAME=, in its environment.
// For a process whose environment cannot be read, such as a key agent, it reports true, because the answer is
// unknown.
func hasVariable(pid int, marker string) bool {
	failed := failedOpens.Load()
	return hasVariablePrefix(environ(pid), marker) || unix.Access(environFile(pid), unix.R_OK) == unix.EACCES ||
		failedOpens.Load() != failed
}

func environFile(pid int) string { return "/proc/" + strconv.Itoa(pid) + "/environ" }

// environ is the environment that a process was started with.
func environ(pid int) []byte { return readProcFile(environFile(pid)) }

// hasVariablePrefix reports whether a variable of env begins with text.
func hasVariablePrefix(env []byte, text string) bool {
	return bytes.HasPrefix(env, []byte(text)) || bytes.Contains(env, []byte("\x00"+text))
}
