// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Fault is a line of a log where a record was altered, removed, reordered, duplicated or truncated after it was
// written. In Report.Unfinished, it is only a line to look at.
type Fault struct {
	File string
	Line int
	What string
}

func (f Fault) String() string { return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.What) }

// Report is the result of Verify.
type Report struct {
	Records, Chains int
	Faults          []Fault // at most 100
	More            int     // number of further faults
	Incomplete      int     // incomplete lines of writers that were killed or had no space
	Earlier         int     // chains whose first records were in rotated files that no longer exist
	Unfinished      []Fault // the START of each command without a recorded end
}

const maxFaults = 100

// Verify reads a log to its end and checks all chains. It cannot detect that the last records of a
// chain were removed. It also cannot detect that a process with write access rewrote a chain from
// some record to its end.
func Verify(r *Reader) (Report, error) { return VerifyEach(r, func(Entry) {}) }

// VerifyEach is Verify, and calls f for each record that was not altered. Only the whole Report tells whether the log
// can be trusted.
func VerifyEach(r *Reader, f func(Entry)) (Report, error) {
	v := verifier{each: f, chains: map[string]*chainEnd{}, running: map[string]startRecord{}, mayLackOlderFiles: r.mayLackOlderFiles}
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return v.done(), nil
		}
		if err != nil {
			return v.done(), err
		}
		v.line(line)
	}
}

type verifier struct {
	report            Report
	each              func(Entry)
	mayLackOlderFiles bool // older files may have been removed
	chains            map[string]*chainEnd
	running           map[string]startRecord // requests with START and without COMPLETE
	starts            int                    // START records read so far
}

// startRecord is the START of a command, and its number among all of them.
type startRecord struct {
	Fault
	n int
}

// chainEnd is the last record of a chain read so far.
type chainEnd struct {
	chainPosition
	missing map[uint64]int // skipped sequence numbers, each with the index of its fault
}

func (v *verifier) fault(l Line, format string, args ...any) (index int) {
	if len(v.report.Faults) == maxFaults {
		v.report.More++
		return -1
	}
	v.report.Faults = append(v.report.Faults, Fault{l.File, l.N, fmt.Sprintf(format, args...)})
	return len(v.report.Faults) - 1
}

func (v *verifier) line(l Line) {
	e, err := Parse(l.Text)
	switch {
	case !l.Recordable:
		v.fault(l, "truncated: the line ends in the middle of a record")
		return
	case errors.Is(err, ErrHash):
		v.fault(l, "altered: %v", err)
	case err != nil && l.Incomplete():
		v.report.Incomplete++
		return
	case err != nil && cutOff(l.Text):
		v.fault(l, "truncated: the record has no end")
		return
	case err != nil:
		v.fault(l, "altered: %v", err)
		return
	}
	v.report.Records++
	v.follows(l, e)
	v.notes(l, e)
	if err == nil {
		v.each(e)
	}
}

// cutOff reports whether a line begins like a record and lacks the last field.
func cutOff(text string) bool {
	var e Entry
	_, err := e.head(text)
	return err == nil && !strings.Contains(text, hashField)
}

// follows checks that e is the next record of its chain.
func (v *verifier) follows(l Line, e Entry) {
	t, known := v.chains[e.Chain]
	if !known {
		t = &chainEnd{missing: map[uint64]int{}}
		v.chains[e.Chain] = t
	}
	at, passed := t.missing[e.Seq]
	switch {
	case e.Seq == t.seq+1 && e.Prev == t.prev():
	case e.Seq == t.seq+1:
		v.fault(l, "altered: record %d of chain %s, which comes before this one, is not the one that was there", t.seq, e.Chain)
	case !known && v.mayLackOlderFiles && e.Seq > 1:
		v.report.Earlier++
	case e.Seq > t.seq+1:
		v.noteGap(l, e, t)
	case passed:
		delete(t.missing, e.Seq)
		if at >= 0 {
			f := &v.report.Faults[at]
			f.What = fmt.Sprintf("reordered: record %d of chain %s comes later, in %s:%d", e.Seq, e.Chain, l.File, l.N)
		}
		return
	default:
		v.fault(l, "duplicated: record %d of chain %s was there already", e.Seq, e.Chain)
		return
	}
	t.chainPosition = chainPosition{seq: e.Seq, hash: e.Hash}
}

// noteGap reports that records are missing before e.
func (v *verifier) noteGap(l Line, e Entry, t *chainEnd) {
	first, last := t.seq+1, e.Seq-1
	which := fmt.Sprintf("record %d", first)
	if last > first {
		which = fmt.Sprintf("records %d to %d", first, last)
	}
	at := v.fault(l, "removed: %s of chain %s should come before this", which, e.Chain)
	for seq := first; seq <= last && len(t.missing) < 1000; seq++ {
		t.missing[seq] = at
	}
}

// notes tracks the commands that have started and not ended.
func (v *verifier) notes(l Line, e Entry) {
	switch e.Kind {
	case Start:
		v.starts++
		v.running[e.Request] = startRecord{Fault{l.File, l.N, fmt.Sprintf("request %s: %s", e.Request, names.Shorten(PrintableText(e.Command), 100))}, v.starts}
	case Complete:
		delete(v.running, e.Request)
	}
}

func (v *verifier) done() Report {
	v.report.Chains = len(v.chains)
	open := slices.SortedFunc(maps.Values(v.running), func(a, b startRecord) int { return cmp.Compare(a.n, b.n) })
	for _, s := range open {
		v.report.Unfinished = append(v.report.Unfinished, s.Fault)
	}
	return v.report
}
