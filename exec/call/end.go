// SPDX-License-Identifier: Apache-2.0

package call

import (
	"cmp"
	"encoding/json"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// status is how a call ended that its command did not end, in one word for programs.
// docs/agents.md lists them.
type status string

const (
	statusDenied        status = "denied"         // by a person
	statusRefused       status = "refused"        // by policy, or unasked
	statusTimeout       status = "timeout"        // nobody answered
	statusNotProxied    status = "not_proxied"    // no command of the session's
	statusNotFound      status = "not_found"      // not on the host any more
	statusNotExecutable status = "not_executable" // on the host
	statusTerminated    status = "terminated"     // the shell, while a command ran in it
	statusUnsupported   status = "unsupported"    // by what carries the call
	statusFailed        status = "failed"         // hostexec itself; the shim says the same
)

// exitKinds are what each status means to the shim.
var exitKinds = map[status]struct {
	outcome wire.Outcome
	code    byte
}{
	statusDenied:        {wire.Refused, wire.CodeRefused},
	statusRefused:       {wire.Refused, wire.CodeRefused},
	statusTimeout:       {wire.TimedOut, wire.CodeTimeout},
	statusNotProxied:    {wire.Refused, wire.CodeNotFound},
	statusNotFound:      {wire.Failed, wire.CodeNotFound},
	statusNotExecutable: {wire.Failed, wire.CodeRefused},
	statusTerminated:    {wire.Failed, wire.CodeFailed},
	statusUnsupported:   {wire.Failed, wire.CodeFailed},
	statusFailed:        {wire.Failed, wire.CodeFailed},
}

// end is how a call ends that its command does not end. Its strings are printable ASCII,
// and empty where there is nothing to say.
type end struct {
	status  status
	code    byte   // the exit code of a verb; zero: the status's
	line    string // a verb's own line for people
	name    string // of the command
	reason  string
	rule    string // which decided
	request string
	hint    string // what to do next
}

// exit returns the code that the shim exits with.
func (e end) exit() byte { return cmp.Or(e.code, exitKinds[e.status].code) }

// text is e as people read it: one line.
func (e end) text() string {
	if e.line != "" {
		return e.line
	}
	s := e.reason
	if e.name != "" {
		s = e.name + ": " + s
	}
	if e.request != "" {
		s += " (request " + e.request + ")"
	}
	if e.hint != "" {
		s += ": " + e.hint
	}
	return line("%s", s)
}

// json is e as programs read it: one line of JSON, with all its fields always there.
func (e end) json() string {
	b, err := json.Marshal(struct {
		Status  status `json:"status"`
		Code    byte   `json:"code"`
		Reason  string `json:"reason"`
		Rule    string `json:"rule"`
		Request string `json:"request"`
		Hint    string `json:"hint"`
	}{e.status, e.exit(), e.reason, e.rule, e.request, e.hint})
	if err != nil {
		panic("call: " + err.Error()) // strings always marshal
	}
	return string(append(names.ASCII(b), '\n'))
}

// frame is e as the shim gets it: the line, and one more if the caller asked for JSON.
func (e end) frame(asJSON bool) wire.Exit {
	way := exitKinds[e.status] // of a status that is none: Failed, and the shim knows its code
	text := e.text()
	if asJSON {
		text += e.json()
	}
	if e.code != 0 { // the verb's own
		return wire.Exit{Outcome: wire.Exited, Code: e.code, Text: text}
	}
	return wire.Exit{Outcome: way.outcome, Code: way.code, Text: text}
}
