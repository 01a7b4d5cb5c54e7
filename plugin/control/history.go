// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// Event is the end of a request, from the audit log.
type Event struct {
	Time      time.Time `json:"time"`
	Kind      string    `json:"kind"` // ran, denied, timeout or cancelled
	Request   string    `json:"request"`
	Session   string    `json:"session"`
	Container string    `json:"container"`
	Project   string    `json:"project"` // base name of the directory where the session was started
	Cmd       string    `json:"cmd"`     // quoted for a shell, in printable ASCII
	Exit      int       `json:"exit"`
	Signal    string    `json:"signal,omitempty"` // the signal that killed the command, if any
	Seconds   float64   `json:"seconds"`
	Reason    string    `json:"reason,omitempty"` // of a denial
	User      string    `json:"user,omitempty"`   // who decided, if it was not the policy: a user, or a grant or denial with its id
}

const (
	historyBytes = 512 << 10 // bytes of the log that are read first
	maxTail      = 8 << 20   // bytes that are read if the records are long
	maxEvents    = 100
	maxCmd       = 1 << 10 // bytes of each command
)

// History returns the last ended requests in the audit log at path, the newest first. If session is not
// empty, it returns only requests of that session.
func History(path, session string) ([]Event, error) {
	text, err := audit.Tail(path, historyBytes)
	list := endedRequests(text, session)
	if err == nil && len(list) < maxEvents && len(text) > historyBytes/2 { // the records are long: read more
		text, err = audit.Tail(path, maxTail)
		list = endedRequests(text, session)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	return list, nil
}

// endedRequests returns the ended requests in text, the newest first.
func endedRequests(text []byte, session string) []Event {
	list := []Event{} // [] in JSON, not null
	lines := strings.Split(string(text), "\n")
	for _, line := range slices.Backward(lines) {
		if e, ok := event(line); ok && (session == "" || e.Session == session) {
			if list = append(list, e); len(list) == maxEvents {
				break
			}
		}
	}
	return list
}

// kinds maps the record kinds that end a request to event kinds.
var kinds = map[audit.Kind]string{audit.Complete: "ran", audit.Deny: "denied", audit.Timeout: "timeout", audit.Cancel: "cancelled"}

// event parses one line of the log; ok is false if the line does not end a request. A line with a wrong
// hash is shown as well, because audit verify reports it.
func event(line string) (Event, bool) {
	e, err := audit.Parse(line)
	kind, ok := kinds[e.Kind]
	if err != nil && !errors.Is(err, audit.ErrHash) || !ok {
		return Event{}, false
	}
	var s shortener
	return Event{
		Time: e.Time, Kind: kind, Request: names.Printable(e.Request), Session: names.Printable(e.Session),
		Container: names.Printable(e.Container), Project: names.Printable(e.Project), Cmd: clip(audit.PrintableText(e.Command), maxCmd),
		Exit: e.Exit, Signal: names.Printable(e.Signal), Seconds: e.Duration.Seconds(), Reason: names.Printable(s.text(e.Reason)), User: names.Printable(e.By),
	}, true
}
