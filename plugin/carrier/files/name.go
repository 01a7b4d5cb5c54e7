// SPDX-License-Identifier: Apache-2.0

package files

import (
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

var idForm = names.Form{Chars: "A-Za-z0-9_-", Min: 1, Max: 64}

// split splits the name of a file of the protocol. It has an id of 1 to 64 letters, digits, - and _, then a dot, and
// the file's kind.
func split(name string) (id, kind string, ok bool) {
	id, kind, ok = strings.Cut(name, ".")
	if !ok || !idForm.Matches(id) || !kinds[kind] {
		return "", "", false
	}
	return id, kind, true
}

// kinds has the kinds of files of a call.
var kinds = map[string]bool{
	"req": true, "req.tmp": true, "cmd": true, "stdin": true, "eof": true, "alive": true, "cancel": true,
	"stdout": true, "stderr": true, "exit": true, "exit.tmp": true, "status": true, "beat": true, "bell": true,
	"fallback": true,
}
