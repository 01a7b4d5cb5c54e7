// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// Sum returns the SHA256 that an Entry has for args, if the text of the command is cut or redacted.
func Sum(args []string) string { return digestOf(shellescape.QuoteCommand(args)) }

// Split returns the exact arguments of e's command. It reports false if the record does not contain
// all of them, because the command was too long or was redacted.
func (e Entry) Split() (args []string, ok bool) {
	if e.SHA256 != "" {
		return nil, false
	}
	var arg strings.Builder
	begun := false
	for s := e.Command; s != ""; {
		switch c := s[0]; c {
		case ' ':
			args, begun = append(args, arg.String()), false
			arg.Reset()
			s = s[1:]
		case '\'', '"': // shell quotes; within them, no character is special here
			text, rest, closed := strings.Cut(s[1:], string(c))
			if !closed {
				return nil, false
			}
			arg.WriteString(text)
			begun, s = true, rest
		default:
			arg.WriteByte(c)
			begun, s = true, s[1:]
		}
	}
	if begun {
		args = append(args, arg.String())
	}
	return args, begun
}
