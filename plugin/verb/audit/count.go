// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

// A container chooses the names of the commands that it requests. So the number of rows is limited: beyond maxStatRows
// rows, the other commands of a day are counted together, and names are cut.
const (
	maxStatRows   = 1000
	maxStatName   = 60
	otherCommands = "(others)" // not a name in the log, which would quote it
)

// statKey is a day and a command, the key of one row.
type statKey struct {
	Day     string // local, as 2026-01-31
	Command string // printable
}

// stat has the counts of one row, for templates.
type stat struct {
	cli.Row
	statKey
	Questions  int // a person was asked
	Approved   int // by a person
	Denied     int // by a person
	Unanswered int // nobody answered in time, or the caller left
	Allowed    int // without a question, by a rule or a grant
	Refused    int // without a question
}

func (s stat) MarshalJSON() ([]byte, error) { return cli.MarshalRow(s) }

// stats counts the records of a log.
type stats struct {
	rows  map[statKey]*stat
	asked map[string]*stat // by request: the rows of questions that have no result yet
}

func newStats() *stats { return &stats{rows: map[statKey]*stat{}, asked: map[string]*stat{}} }

// add counts one record.
func (s *stats) add(e audit.Entry) {
	switch e.Kind {
	case audit.Request:
		row := s.row(e)
		row.Questions++
		s.asked[e.Request] = row
		return
	case audit.AutoApprove:
		s.row(e).Allowed++
	case audit.Approve:
		if strings.HasPrefix(e.By, "grant ") { // the grant was made since the question
			s.withdraw(e)
			s.row(e).Allowed++
		} else {
			s.row(e).Approved++
		}
	case audit.Deny:
		if e.By == "" || strings.HasPrefix(e.By, "denial ") {
			s.withdraw(e)
			s.row(e).Refused++
		} else {
			s.row(e).Denied++
		}
	case audit.Timeout, audit.Cancel:
		s.row(e).Unanswered++
	case audit.Refusals:
		s.row(e).Refused += max(e.Count, 0)
	default:
		return
	}
	delete(s.asked, e.Request)
}

// withdraw uncounts the question of a request that a grant, a denial for the session or the policy settled before a
// person answered.
func (s *stats) withdraw(e audit.Entry) {
	if row := s.asked[e.Request]; row != nil {
		row.Questions--
	}
}

// row returns the row of e.
func (s *stats) row(e audit.Entry) *stat {
	key := statKey{e.Time.Local().Format(time.DateOnly), commandName(e)}
	if _, known := s.rows[key]; !known && len(s.rows) >= maxStatRows {
		key.Command = otherCommands
	}
	if s.rows[key] == nil {
		s.rows[key] = &stat{statKey: key}
	}
	return s.rows[key]
}

// commandName returns the name of the command in printable ASCII.
func commandName(e audit.Entry) string {
	name, _, _ := strings.Cut(e.Command, " ")
	if args, ok := e.Split(); ok {
		name = args[0]
		if name == "" || name == otherCommands || strings.Contains(name, " ") {
			name = `"` + name + `"` // Printable escapes these quotes
		}
	}
	return cli.Ellipsis(audit.PrintableText(name), maxStatName)
}

// sorted returns the rows by day, then by count, the greatest first.
func (s *stats) sorted() (rows []*stat) {
	for _, row := range s.rows {
		if row.any() {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b *stat) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(b.Questions, a.Questions), cmp.Compare(b.total(), a.total()), cmp.Compare(a.Command, b.Command))
	})
	return rows
}

// any reports whether anything was counted.
func (s *stat) any() bool { return s.Questions > 0 || s.total() > 0 }

// total returns the number of settled requests.
func (s *stat) total() int { return s.Approved + s.Denied + s.Unanswered + s.Allowed + s.Refused }

// sum returns the sum of rows as a row of its own.
func sum(rows []*stat) *stat {
	all := &stat{statKey: statKey{Day: "TOTAL"}}
	for _, r := range rows {
		all.Questions += r.Questions
		all.Approved += r.Approved
		all.Denied += r.Denied
		all.Unanswered += r.Unanswered
		all.Allowed += r.Allowed
		all.Refused += r.Refused
	}
	return all
}
