// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// The keys of pending --watch.
const (
	keyYes    = 'y'
	keyAlways = 'a'
	keyVary   = 'v'
	keyFiles  = 'u'
	keyNo     = 'n'
	keyReason = 'r'
	keyNever  = 'N'
	keyQuit   = 'q'
	ctrlC     = 3
	ctrlD     = 4
	ctrlSlash = 28 // ^\, which sends SIGQUIT on other terminals
	enter     = '\r'
	newline   = '\n'
)

// serve shows one request after the other, and answers each by the next key.
func (d *questionList) serve(ctx context.Context, out io.Writer, keys <-chan byte, keep func(control.Question) bool) error {
	fmt.Fprintln(out, "Waiting for requests. q leaves.")
	for {
		q, n := d.next(keep)
		if n == 0 {
			if over := d.idle(ctx, keys); over {
				return nil
			}
			continue
		}
		whole, err := wholeQuestion(ctx, d.store, q)
		if err != nil {
			fmt.Fprintln(out, err)
			if over := d.idle(ctx, keys); over {
				return nil
			}
			continue
		}
		showQuestion(out, whole, n)
		key, answered := d.key(ctx, out, keys, whole, keep)
		switch {
		case !answered:
			fmt.Fprintln(out, "\nIt was answered elsewhere, or nobody waits for it any more.")
		case quits(key):
			fmt.Fprintln(out)
			return nil
		case key == keyVary:
			if result, done := d.vary(ctx, out, keys, whole); done {
				fmt.Fprintln(out, result)
			}
		default:
			reason, sure := "", true
			if key == keyReason || key == keyNever {
				reason, sure = readReason(ctx, out, keys)
			}
			if sure { // otherwise the question is shown again
				fmt.Fprintln(out, d.answer(ctx, whole, key, reason))
			}
		}
	}
}

// quits reports whether key ends --watch. On a raw terminal, ^C and ^\ send no signals. The key is 0 after the
// terminal was closed.
func quits(key byte) bool {
	return key == keyQuit || key == ctrlC || key == ctrlD || key == ctrlSlash || key == 0
}

// idle waits for a change. It returns true if the user quits.
func (d *questionList) idle(ctx context.Context, keys <-chan byte) (over bool) {
	select {
	case <-d.changed:
		return false
	case key := <-keys: // 0 after the terminal was closed
		return quits(key)
	case <-ctx.Done():
		return true
	}
}

// showQuestion shows a request completely: exactly what is shown runs.
func showQuestion(out io.Writer, q control.Question, n int) {
	more := ""
	if n > 1 {
		more = fmt.Sprintf(" (1 of %d)", n)
	}
	left := time.Until(q.Deadline)
	fmt.Fprintf(out, "\nRequest %s%s of container %s, asked %s ago, ", q.ID, more, q.Container, units.HumanDuration(time.Since(q.Asked)))
	if q.Gone == len(q.Waiting) {
		fmt.Fprintf(out, "caller gone, kept %d s", int(left.Seconds()))
	} else {
		fmt.Fprintf(out, "%s left", units.HumanDuration(left))
	}
	if n := len(q.Waiting); n > 1 {
		fmt.Fprintf(out, ", asked %d times", n)
	}
	fmt.Fprintln(out)
	for _, f := range questionFacts(q) {
		fmt.Fprintf(out, "  %-7s  %s\n", f.name, f.text)
	}
	for i, arg := range q.Args {
		if arg == "" || strings.TrimSpace(arg) != arg { // arguments with special characters are already quoted
			arg = strconv.Quote(arg)
		}
		fmt.Fprintf(out, "  argv[%d]  %s\n", i, arg)
	}
	if q.Diff != "" {
		fmt.Fprintf(out, "\nChanged since you approved it:\n%s\n", q.Diff)
	}
}

// fact is one line about a request.
type fact struct{ name, text string }

// questionFacts returns the facts about q, the most dangerous first.
func questionFacts(q control.Question) (facts []fact) {
	if g := q.Grade; g.Code() {
		name := map[policy.Grade]string{policy.GradeCertain: "WARNING", policy.GradePossible: "caution", policy.GradeUnknown: "note"}[g]
		facts = append(facts, fact{name, g.Label() + ": " + g.SentenceForOne()})
	}
	for _, note := range q.Notes {
		facts = append(facts, fact{"note", note})
	}
	facts = append(facts, fact{"runs", q.Path}, fact{"in", fmt.Sprintf("%s (%s in the container)", q.Dir, q.Cwd)})
	for _, f := range []fact{{"before", q.Earlier.String()}, {"project", q.Project}, {"branch", q.Branch}, {"agent", q.Agent}, {"rule", q.Rule}, {"effects", strings.Join(q.Effects, ", ")}, {"files", q.Inputs.String()}, {"no u", q.NoInputs}} {
		if f.text != "" {
			facts = append(facts, f)
		}
	}
	return facts
}

// key waits for a key that answers q as shown. It returns false if q does not wait any more, or has changed.
func (d *questionList) key(ctx context.Context, out io.Writer, keys <-chan byte, q control.Question, keep func(control.Question) bool) (key byte, answered bool) {
	read := time.NewTimer(minShown)
	defer read.Stop()
	ready := false
	for {
		select {
		case <-read.C:
			ready = true
			fmt.Fprint(out, "y runs it once, a until the session ends, "+whileUnchanged(q)+
				"v with other arguments, n or Enter refuses it, r with a reason, N until the session ends, q leaves: ")
		case <-d.changed:
			if now, n := d.next(keep); n == 0 || now.ID != q.ID || !slices.Equal(now.Waiting, q.Waiting) {
				return 0, false
			}
		case key := <-keys:
			known := []byte{keyYes, keyAlways, keyFiles, keyVary, keyNo, keyReason, keyNever, enter, newline}
			if key == keyFiles && q.Inputs == nil {
				continue
			}
			if quits(key) || ready && slices.Contains(known, key) {
				return key, true
			}
		case <-ctx.Done():
			return keyQuit, true
		}
	}
}

// whileUnchanged returns the part of the prompt for the key that q may not have.
func whileUnchanged(q control.Question) string {
	if q.Inputs == nil {
		return ""
	}
	return "u while its files are unchanged, "
}

// answer settles q, and returns the result as a text.
func (d *questionList) answer(ctx context.Context, q control.Question, key byte, reason string) string {
	verb, settle := "Refused.", func(c *control.Client, q control.Question) error { return c.Deny(ctx, q, reason) }
	switch key {
	case keyYes:
		verb, settle = "Runs.", func(c *control.Client, q control.Question) error { return c.Approve(ctx, q) }
	case keyNever:
		verb, settle = "Refused, each time until the session ends.", func(c *control.Client, q control.Question) error { return c.DenyAlways(ctx, q, reason) }
	case keyAlways:
		always := approval.Terms{Always: true}
		verb, settle = "Runs, each time until the session ends.", func(c *control.Client, q control.Question) error { return c.Grant(ctx, q, always) }
	case keyFiles:
		unchanged := approval.Terms{Unchanged: true}
		verb, settle = "Runs, each time while its files are unchanged, until the session ends.", func(c *control.Client, q control.Question) error { return c.Grant(ctx, q, unchanged) }
	}
	if err := answerOne(ctx, d.store, q, settle); err != nil {
		return "Not settled: " + err.Error()
	}
	d.drop(q)
	return verb
}

// drop removes a settled question before the watcher reports the change.
func (d *questionList) drop(q control.Question) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var rest []control.Question
	for _, other := range d.waiting[q.Session] {
		if other.ID != q.ID {
			rest = append(rest, other)
		}
	}
	d.waiting[q.Session] = rest
}
