// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

// Limits of what learn remembers of the log, because a container chooses the arguments of its requests.
const (
	maxCalls   = 10_000  // different approved calls, and as many denied ones
	maxCallLen = 4 << 10 // bytes of a denied call
)

// approvals are the answers in the log, by persons and by their grants and standing denials.
type approvals struct {
	log      *pastLog
	from     time.Time
	project  bool            // only approvals in the project of log.src
	commands map[string]bool // only of these; empty: all

	times      map[approval]int
	denied     map[string]bool // by text of the command
	deniedSums map[string]bool // denied commands whose text is cut or redacted
	unknown    bool            // denied commands that are in neither of them
	skipped    map[skipKey]int
}

// approval is one approved call in one session.
type approval struct {
	session *earlierSession
	command string // as Entry.Command
	checked bool   // a grant approved it, after a check of the path that varies
}

// skipKey is why calls of a command are not proposed.
type skipKey struct{ Command, Reason string }

const (
	skipPartial   = "the log does not have all of the arguments: they are long or redacted"
	skipSecret    = "audit.redact matches it"
	skipUnchanged = "it was approved only while files are unchanged"
	skipMore      = "its question was about more than its arguments"
	skipPath      = "a grant approved it, which first checks that the path is no link"
	skipDenied    = "a person has denied the same call"
	skipMany      = "there are more different calls than are read"
)

// errDamaged means that rules must not be made from the log.
var errDamaged = errors.New("the audit log is not as it was written")

func newApprovals(log *pastLog) *approvals {
	return &approvals{log: log, times: map[approval]int{}, denied: map[string]bool{}, deniedSums: map[string]bool{}, skipped: map[skipKey]int{}}
}

// read reads and verifies the log. It returns an error if any record was altered, removed or reordered: then an
// approval could be forged, or a denial missing.
func (a *approvals) read() error {
	r, err := a.log.open()
	if r == nil || err != nil {
		return err
	}
	defer r.Close()
	rep, err := audit.VerifyEach(r, a.entry)
	if err != nil {
		return err
	}
	if n := len(rep.Faults) + rep.More; n > 0 {
		return cli.Hint(fmt.Errorf("%w: %s: nothing is learned from it", errDamaged, cli.Count(n, "fault")), "docker hostexec audit verify")
	}
	return nil
}

func (a *approvals) entry(e audit.Entry) {
	a.log.note(e)
	switch e.Kind {
	case audit.Approve:
		if !e.Time.Before(a.from) && (!a.project || a.log.isHere(e)) {
			a.approve(e)
		}
	case audit.Deny:
		if e.By != "" { // a person, or a standing denial, in any project and at any time
			a.deny(e)
		}
	}
}

func (a *approvals) approve(e audit.Entry) {
	args, whole := e.Split()
	if !whole {
		a.skipped[skipKey{"", skipPartial}]++
		return
	}
	key := approval{a.log.session(e), e.Command, strings.Contains(e.By, " <path below ")}
	switch {
	case len(a.commands) > 0 && !a.commands[args[0]]:
	case e.Inputs != "":
		a.skip(args[0], skipUnchanged, 1)
	case e.More:
		a.skip(args[0], skipMore, 1)
	case a.times[key] == 0 && len(a.times) >= maxCalls:
		a.skip(args[0], skipMany, 1)
	default:
		key.command = strings.Clone(key.command) // not the whole line
		a.times[key]++
	}
}

func (a *approvals) deny(e audit.Entry) {
	switch {
	case len(a.denied)+len(a.deniedSums) >= maxCalls, len(e.Command) > maxCallLen && e.SHA256 == "":
		a.unknown = true
	case e.SHA256 != "":
		a.deniedSums[strings.Clone(e.SHA256)] = true
	default:
		a.denied[strings.Clone(e.Command)] = true
	}
}

// skip counts calls that are not proposed. A command is the choice of a container, so their number is limited.
func (a *approvals) skip(command, reason string, times int) {
	key := skipKey{strings.Clone(command), reason}
	if a.skipped[key] == 0 && len(a.skipped) >= maxChanges {
		key.Command = ""
	}
	a.skipped[key] += times
}

// learn returns the rules that the approvals allow.
func (a *approvals) learn(effects []string) []policy.Learned {
	var candidates []policy.Candidate
	denied := policy.Denials{Unknown: a.unknown || len(a.deniedSums) > 0}
	for text := range a.denied {
		if args, ok := (audit.Entry{Command: text}).Split(); ok {
			denied.Calls = append(denied.Calls, args)
		}
	}
	for call, times := range a.times {
		args, _ := (audit.Entry{Command: call.command}).Split()
		c, asks, why := a.candidate(call, args, effects)
		switch {
		case why != "":
			a.skip(args[0], why, times)
		case asks:
			c.Times = times
			candidates = append(candidates, c)
		}
	}
	slices.SortFunc(denied.Calls, slices.Compare)
	return policy.Learn(candidates, denied)
}

// candidate returns the call as one to learn from, or the reason why it is none. asks is false if nobody would be asked
// about it now.
func (a *approvals) candidate(call approval, args, effects []string) (c policy.Candidate, asks bool, why string) {
	secret := func(re *regexp.Regexp) bool { return re.MatchString(call.command) }
	switch {
	case a.denied[call.command] || a.deniedSums[audit.Sum(args)]:
		return c, true, skipDenied
	case slices.ContainsFunc(a.log.config(call.session).Audit.Redact, secret):
		return c, true, skipSecret
	}
	c, asks, why = a.log.policy(call.session).Learnable(args, effects)
	if call.checked && asks && !c.Confined && why == "" {
		why = skipPath // a rule does not check it
	}
	return c, asks, why
}

// skippedCalls are approved calls of a command of which no rule is proposed.
type skippedCalls struct {
	Command string `json:"command,omitempty"`
	Times   int    `json:"approvals"`
	Reason  string `json:"reason"`
}

// skippedCalls returns the calls that are not proposed, the most frequent first.
func (a *approvals) skippedCalls() (all []skippedCalls) {
	for _, key := range slices.SortedFunc(maps.Keys(a.skipped), func(x, y skipKey) int {
		return cmp.Or(a.skipped[y]-a.skipped[x], cmp.Compare(x.Command, y.Command), cmp.Compare(x.Reason, y.Reason))
	}) {
		all = append(all, skippedCalls{names.Plain(key.Command), a.skipped[key], names.Plain(key.Reason)})
	}
	return all
}
