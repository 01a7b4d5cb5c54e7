// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// PrintableText is like names.Plain, but also quotes a text that begins with a double quote. So different texts have
// different results.
func PrintableText(s string) string {
	if strings.HasPrefix(s, `"`) {
		return strconv.QuoteToASCII(s)
	}
	return names.Plain(s)
}

// MarshalJSON encodes the record for programs. PrintableText is applied to each text except digests, because JSON
// cannot encode bytes that are not UTF-8, and does not escape all control sequences of a terminal.
func (e Entry) MarshalJSON() ([]byte, error) {
	out := entryJSON{
		Time: e.Time, Event: e.Kind, Project: e.Project, Branch: e.Branch, Session: e.Session, Container: e.Container, Agent: e.Agent,
		Command: e.Command, Bytes: e.Bytes, SHA256: e.SHA256, Request: e.Request, Rule: e.Rule, Pattern: e.Pattern,
		Path: e.Path, Dir: e.Dir, User: e.By, Grant: e.Grant, Inputs: e.Inputs, Preview: e.Preview, More: e.More, Reason: e.Reason, Signal: e.Signal,
		Chain: e.Chain, Seq: e.Seq, Prev: e.Prev, Hash: e.Hash,
	}
	for _, s := range []*string{
		&out.Project, &out.Branch, &out.Session, &out.Container, &out.Agent, &out.Command, &out.Request, &out.Rule,
		&out.Pattern, &out.Path, &out.Dir, &out.User, &out.Grant, &out.Inputs, &out.Preview, &out.Reason, &out.Signal, &out.Chain,
	} {
		*s = PrintableText(*s)
	}
	if e.Kind == Refusals {
		out.Count, out.Since = e.Count, e.Since
	}
	if e.Kind == Complete {
		exit, took := e.Exit, e.Duration.Seconds()
		out.Exit, out.Duration = &exit, &took
	}
	return json.Marshal(out)
}

// entryJSON is the JSON form of a record, with a field for each key.
type entryJSON struct {
	Time      time.Time `json:"time"`
	Event     Kind      `json:"event"`
	Project   string    `json:"project,omitempty"`
	Branch    string    `json:"branch,omitempty"`
	Session   string    `json:"session"`
	Container string    `json:"container,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Command   string    `json:"command"`
	Bytes     int       `json:"command_bytes,omitempty"`
	SHA256    string    `json:"command_sha256,omitempty"`
	Request   string    `json:"request"`
	Rule      string    `json:"rule,omitempty"`
	Pattern   string    `json:"pattern,omitempty"`
	Path      string    `json:"path,omitempty"`
	Dir       string    `json:"cwd,omitempty"`
	User      string    `json:"user,omitempty"`
	Grant     string    `json:"grant,omitempty"`
	Inputs    string    `json:"inputs,omitempty"`
	Preview   string    `json:"preview,omitempty"`
	More      bool      `json:"more,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Signal    string    `json:"signal,omitempty"`
	Count     int       `json:"count,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	Exit      *int      `json:"exit,omitempty"`
	Duration  *float64  `json:"duration,omitempty"` // seconds
	Chain     string    `json:"chain"`
	Seq       uint64    `json:"seq"`
	Prev      string    `json:"prev"`
	Hash      string    `json:"hash"`
}
