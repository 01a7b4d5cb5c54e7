// SPDX-License-Identifier: Apache-2.0

package files

import (
	"strings"
)

// split splits the name of a file of the protocol: an id of 1 to 64 letters, digits, - and _, a dot, and the file's
// kind.
func split(name string) (id, kind string, ok bool) {
	id, kind, ok = strings.Cut(name, ".")
	if !ok || id == "" || len(id) > 64 || !kinds[kind] {
		return "", "", false
	}
	for _, c := range []byte(id) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return "", "", false
		}
	}
	return id, kind, true
}

// kinds has the kinds of files of a call.
var kinds = map[string]bool{
	"req": true, "req.tmp": true, "cmd": true, "stdin": true, "eof": true, "alive": true, "cancel": true,
	"stdout": true, "stderr": true, "exit": true, "exit.tmp": true, "status": true, "beat": true, "bell": true,
	"fallback": true,
}
