// SPDX-License-Identifier: Apache-2.0

package call

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// Status is one word, for programs, for the end of a call without a command's exit code. docs/agents.md lists the
// words, except StatusUnsupported.
type Status string

const (
	StatusDenied        Status = "denied"         // by a person
	StatusRefused       Status = "refused"        // by the policy or, before the start, a limit; or nobody could be asked
	StatusTimeout       Status = "timeout"        // no answer in time, or a time limit
	StatusNotProxied    Status = "not_proxied"    // the session has no such command
	StatusNotFound      Status = "not_found"      // not on the host, or not in the image
	StatusNotExecutable Status = "not_executable" // on the host, or in the image
	StatusTerminated    Status = "terminated"     // the shell, while a command ran in it
	StatusUnsupported   Status = "unsupported"    // the carrier or the session lacks it; HTTP answers with 400
	StatusFailed        Status = "failed"         // another error, such as wrong arguments; the shim uses the same word
)

// exitKinds maps each status to the exit code and outcome that the shim receives.
var exitKinds = map[Status]struct {
	outcome wire.Outcome
	code    byte
}{
	StatusDenied:        {wire.Refused, wire.CodeRefused},
	StatusRefused:       {wire.Refused, wire.CodeRefused},
	StatusTimeout:       {wire.TimedOut, wire.CodeTimeout},
	StatusNotProxied:    {wire.Refused, wire.CodeNotFound},
	StatusNotFound:      {wire.Failed, wire.CodeNotFound},
	StatusNotExecutable: {wire.Failed, wire.CodeRefused},
	StatusTerminated:    {wire.Failed, wire.CodeFailed},
	StatusUnsupported:   {wire.Failed, wire.CodeFailed},
	StatusFailed:        {wire.Failed, wire.CodeFailed},
}

// Failure is the end of a call without a command's exit code. Its strings are printable ASCII, possibly empty. Only
// Line has newlines.
type Failure struct {
	Status  Status
	Code    byte   // the exit code of a verb; zero: the status's
	Line    string // a verb's own lines for people, which replace all others
	Name    string // of the command
	Reason  string
	Rule    string // which decided
	Request string
	Hint    string // the next step for the caller
}

// exit returns the exit code of the shim.
func (e Failure) exit() byte { return cmp.Or(e.Code, exitKinds[e.Status].code) }

// Text returns e for people: one line, or the lines of a verb.
func (e Failure) Text() string {
	if e.Line != "" {
		return e.Line
	}
	s := e.Reason
	if e.Name != "" {
		s = e.Name + ": " + s
	}
	if e.Request != "" {
		s += " (request " + e.Request + ")"
	}
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return MessageLine("%s", s)
}

// json returns e for programs: one line of JSON that always has all fields.
func (e Failure) json() string {
	b, err := json.Marshal(struct {
		Status  Status `json:"status"`
		Code    byte   `json:"code"`
		Reason  string `json:"reason"`
		Rule    string `json:"rule"`
		Request string `json:"request"`
		Hint    string `json:"hint"`
	}{e.Status, e.exit(), e.Reason, e.Rule, e.Request, e.Hint})
	if err != nil {
		panic("call: " + err.Error()) // strings always marshal
	}
	return string(append(names.ASCIIJSON(b), '\n'))
}

// frame returns e as a frame for the shim: the text, and the JSON line if the caller asked for it.
func (e Failure) frame(asJSON bool) wire.Exit {
	way := exitKinds[e.Status] // for an unknown status: Failed, and the shim knows its code
	text := e.Text()
	if asJSON {
		text += e.json()
	}
	if e.Code != 0 { // the verb's own
		return wire.Exit{Outcome: wire.Exited, Code: e.Code, Text: text}
	}
	return wire.Exit{Outcome: way.outcome, Code: way.code, Text: text}
}

// MessageLine formats one line for the shim's stderr.
func MessageLine(format string, a ...any) string {
	return "hostexec: " + fmt.Sprintf(format, a...) + "\n"
}

// quoteWord returns a word of the container for a message: unchanged if it could be the name of a command,
// otherwise quoted.
func quoteWord(s string) string {
	if policy.ValidName(s) {
		return s
	}
	if len(s) > 80 {
		return strconv.QuoteToASCII(s[:80]) + "..."
	}
	return strconv.QuoteToASCII(s)
}

// Truncate returns the beginning of s, for a message.
func Truncate(s string) string { return s[:min(len(s), 80)] }
