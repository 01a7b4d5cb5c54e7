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
	day     string // local, as 2026-01-31
	command string // printable
}

// stat has the counts of one row.
type stat struct {
	statKey
	questions  int // a person was asked
	approved   int // by a person
	denied     int // by a person
	unanswered int // nobody answered in time, or the caller left
	allowed    int // without a question, by a rule or a grant
	refused    int // without a question
}

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
		row.questions++
		s.asked[e.Request] = row
		return
	case audit.AutoApprove:
		s.row(e).allowed++
	case audit.Approve:
		if strings.HasPrefix(e.By, "grant ") { // the grant was made since the question
			s.withdraw(e)
			s.row(e).allowed++
		} else {
			s.row(e).approved++
		}
	case audit.Deny:
		if e.By == "" || strings.HasPrefix(e.By, "denial ") {
			s.withdraw(e)
			s.row(e).refused++
		} else {
			s.row(e).denied++
		}
	case audit.Timeout, audit.Cancel:
		s.row(e).unanswered++
	case audit.Refusals:
		s.row(e).refused += max(e.Count, 0)
	default:
		return
	}
	delete(s.asked, e.Request)
}

// withdraw uncounts the question of a request that a grant, a denial for the session or the policy settled before a
// person answered.
func (s *stats) withdraw(e audit.Entry) {
	if row := s.asked[e.Request]; row != nil {
		row.questions--
	}
}

// row returns the row of e.
func (s *stats) row(e audit.Entry) *stat {
	key := statKey{e.Time.Local().Format(time.DateOnly), commandName(e)}
	if _, known := s.rows[key]; !known && len(s.rows) >= maxStatRows {
		key.command = otherCommands
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
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(b.questions, a.questions), cmp.Compare(b.total(), a.total()), cmp.Compare(a.command, b.command))
	})
	return rows
}

// any reports whether anything was counted.
func (s *stat) any() bool { return s.questions > 0 || s.total() > 0 }

// total returns the number of settled requests.
func (s *stat) total() int { return s.approved + s.denied + s.unanswered + s.allowed + s.refused }

// sum returns the sum of rows as a row of its own.
func sum(rows []*stat) *stat {
	all := &stat{statKey: statKey{day: "TOTAL"}}
	for _, r := range rows {
		all.questions += r.questions
		all.approved += r.approved
		all.denied += r.denied
		all.unanswered += r.unanswered
		all.allowed += r.allowed
		all.refused += r.refused
	}
	return all
}
