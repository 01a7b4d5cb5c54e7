// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Entry is a record as read from a log.
type Entry struct {
	Time time.Time
	SessionInfo
	Record         // without Args; Command replaces it
	Command string // quoted for a shell
	Bytes   int    // length of the whole command if Command is shortened or redacted
	SHA256  string // SHA-256 of the whole command if Command is shortened or redacted
	Chain   string // the session to whose chain the record belongs
	Seq     uint64 // its number in the chain, from 1
	Prev    string // hash of the previous record
	Hash    string // hash of this record
}

var (
	// errForm means that the line is not a complete record.
	errForm = errors.New("not a record")
	// ErrHash means that the record was changed after it was written.
	ErrHash = errors.New("the record does not have the hash that it shows")
)

// maxLine is greater than the length of any record.
const maxLine = 1 << 20

// Parse parses one line, without the line end. With ErrHash it still returns the parsed entry.
// Unknown fields are ignored.
func Parse(line string) (Entry, error) {
	var e Entry
	fields, err := e.head(line)
	if err != nil {
		return Entry{}, err
	}
	seen := map[string]bool{}
	for fields != "" {
		name, value, rest, err := cutField(fields)
		if err == nil && seen[name] {
			err = fmt.Errorf("%w: %s twice", errForm, name)
		}
		if err == nil {
			err = e.set(name, value)
		}
		if err != nil {
			return Entry{}, err
		}
		seen[name], fields = true, rest
	}
	for _, name := range []string{"cmd", "request", "chain", "seq", "prev", "hash"} {
		if !seen[name] {
			return Entry{}, fmt.Errorf("%w: it has no %s", errForm, name)
		}
	}
	if signed, ok := strings.CutSuffix(line, hashField+e.Hash); !ok || digest(signed) != e.Hash {
		return e, ErrHash
	}
	return e, nil
}

// head parses the time and the kind, and returns the remaining fields.
func (e *Entry) head(line string) (fields string, err error) {
	if len(line) > maxLine || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", fmt.Errorf("%w: too long, or not printable ASCII", errForm)
	}
	when, rest, _ := strings.Cut(line, " ")
	rest, ok := strings.CutPrefix(rest, recordTag+" ")
	if e.Time, err = time.Parse(time.RFC3339, when); err != nil || !ok || !strings.HasSuffix(when, "Z") {
		return "", fmt.Errorf("%w: it does not begin as one", errForm)
	}
	kind, fields, _ := strings.Cut(rest, " ")
	e.Kind = Kind(kind)
	if !slices.Contains(Kinds, e.Kind) {
		return "", fmt.Errorf("%w: there is no %s", errForm, kind)
	}
	return fields, nil
}

// Kinds lists all kinds of records.
var Kinds = []Kind{Request, AutoApprove, Approve, Deny, Timeout, Cancel, Start, Complete, Refusals}

// cutField removes name=value from the front of fields. A value has exactly one valid form, plain
// or quoted.
func cutField(fields string) (name, value, rest string, err error) {
	name, after, ok := strings.Cut(fields, "=")
	value, rest, valid := cutValue(after)
	if !ok || !valid || !isFieldName(name) {
		return "", "", "", fmt.Errorf("%w: %.20q is no field", errForm, fields)
	}
	return name, value, rest, nil
}

// cutValue removes a value and the space after it from the front of fields.
func cutValue(fields string) (value, rest string, ok bool) {
	raw, _, _ := strings.Cut(fields, " ")
	switch {
	case strings.HasPrefix(fields, `"`):
		var err error
		if raw, err = strconv.QuotedPrefix(fields); err != nil {
			return "", "", false
		}
		if value, err = strconv.Unquote(raw); err != nil || strconv.QuoteToASCII(value) != raw {
			return "", "", false
		}
	case isPlain(raw):
		value = raw
	case raw != "-":
		return "", "", false
	}
	if rest = fields[len(raw):]; rest == "" {
		return value, "", true
	}
	rest, ok = strings.CutPrefix(rest, " ")
	return value, rest, ok && rest != ""
}

func isFieldName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func (e *Entry) set(name, value string) (err error) {
	if to := e.textField(name); to != nil {
		*to = value
		return nil
	}
	switch name {
	case "more":
		e.More = value == "yes"
	case "cmd_bytes":
		e.Bytes, err = strconv.Atoi(value)
	case "exit":
		e.Exit, err = strconv.Atoi(value)
	case "seq":
		e.Seq, err = strconv.ParseUint(value, 10, 63)
	case "count":
		e.Count, err = strconv.Atoi(value)
	case "since":
		e.Since, err = time.Parse(time.RFC3339, value)
	case "duration":
		e.Duration, err = seconds(value)
	}
	if err != nil {
		return fmt.Errorf("%w: %s=%.20q", errForm, name, value)
	}
	return nil
}

// textField returns the destination of a text field, or nil if name is not a text field.
func (e *Entry) textField(name string) *string {
	switch name {
	case "project":
		return &e.Project
	case "branch":
		return &e.Branch
	case "cloister":
		return &e.Session
	case "container":
		return &e.Container
	case "agent":
		return &e.Agent
	case "cmd":
		return &e.Command
	case "cmd_sha256":
		return &e.SHA256
	case "request":
		return &e.Request
	case "chain":
		return &e.Chain
	case "prev":
		return &e.Prev
	case "hash":
		return &e.Hash
	}
	return e.ownField(name)
}

// ownField returns the destination of a text field that only some kinds of records have, or nil.
func (e *Entry) ownField(name string) *string {
	switch name {
	case "rule":
		return &e.Rule
	case "pattern":
		return &e.Pattern
	case "path":
		return &e.Path
	case "cwd":
		return &e.Dir
	case "user":
		return &e.By
	case "grant":
		return &e.Grant
	case "preview":
		return &e.Preview
	case "inputs":
		return &e.Inputs
	case "reason":
		return &e.Reason
	case "signal":
		return &e.Signal
	}
	return nil
}

// seconds parses a duration in the format of a record: 2.340s.
func seconds(s string) (time.Duration, error) {
	digits, ok := strings.CutSuffix(s, "s")
	n, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(n >= 0 && n < math.MaxInt64/1e9) {
		return 0, errForm
	}
	return time.Duration(math.Round(n*1000)) * time.Millisecond, nil
}
