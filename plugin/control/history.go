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
)

// Event is how a request ended, from the audit log.
type Event struct {
	Time      time.Time `json:"time"`
	Kind      string    `json:"kind"` // ran, denied, timeout or cancelled
	Request   string    `json:"request"`
	Session   string    `json:"session"`
	Container string    `json:"container"`
	Project   string    `json:"project"`
	Cmd       string    `json:"cmd"` // as a shell would need it typed, in printable ASCII
	Exit      int       `json:"exit"`
	Signal    string    `json:"signal,omitempty"` // what killed it, if anything did
	Seconds   float64   `json:"seconds"`
	Reason    string    `json:"reason,omitempty"` // of a denial
	User      string    `json:"user,omitempty"`   // who decided, if it was a person
}

// How much of the log is looked at, how many events of it are shown, and how much of a command.
const (
	tail      = 512 << 10
	maxTail   = 8 << 20
	maxEvents = 100
	maxCmd    = 1 << 10
)

// History returns how the last requests ended that the audit log at path tells of, the
// newest first: those of session, or if that is empty of all.
func History(path, session string) ([]Event, error) {
	text, err := audit.Tail(path, tail)
	list := ends(text, session)
	if err == nil && len(list) < maxEvents && len(text) > tail/2 { // the records are long
		text, err = audit.Tail(path, maxTail)
		list = ends(text, session)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	return list, nil
}

// ends returns the ends that text tells of, the newest first.
func ends(text []byte, session string) []Event {
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

// kinds are the records that tell an end.
var kinds = map[audit.Kind]string{audit.Complete: "ran", audit.Deny: "denied", audit.Timeout: "timeout", audit.Cancel: "cancelled"}

// event reads one line of the log; ok is false for one that tells no end. One whose hash is
// not its own is shown all the same: audit verify says so.
func event(line string) (Event, bool) {
	e, err := audit.Parse(line)
	kind, ok := kinds[e.Kind]
	if err != nil && !errors.Is(err, audit.ErrHash) || !ok {
		return Event{}, false
	}
	var s shortener
	return Event{
		Time: e.Time, Kind: kind, Request: Printable(e.Request), Session: Printable(e.Session),
		Container: Printable(e.Container), Project: Printable(e.Project), Cmd: clip(audit.Show(e.Command), maxCmd),
		Exit: e.Exit, Signal: Printable(e.Signal), Seconds: e.Took.Seconds(), Reason: Printable(s.text(e.Reason)), User: Printable(e.By),
	}, true
}
