// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/cli/cli/streams"
	"github.com/docker/go-units"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// The keys of pending --watch.
const (
	keyYes        = 'y'
	keyAlways     = 'a'
	keyVary       = 'v'
	keyFiles      = 'u'
	keyNo         = 'n'
	keyReason     = 'r'
	keyNever      = 'N'
	keyQuit       = 'q'
	ctrlC         = 3
	ctrlD         = 4
	ctrlBackslash = 28 // ^\, which sends SIGQUIT unless the terminal is raw
	enter         = '\r'
	newline       = '\n'
)

// serve shows one request after the other, and answers each by the next key. A key answers only the requests that are
// shown together.
func (d *questionList) serve(ctx context.Context, out *streams.Out, keys <-chan byte, keep func(control.Question) bool) error {
	fmt.Fprintln(out, "Waiting for requests. q leaves.")
	for {
		group, n := d.next(keep)
		if n == 0 {
			if d.idle(ctx, keys) {
				return nil
			}
			continue
		}
		var err error
		if group[0], err = wholeQuestion(ctx, d.store, group[0]); err != nil { // only single requests are truncated
			fmt.Fprintln(out, err)
			if d.idle(ctx, keys) {
				return nil
			}
			continue
		}
		showQuestion(out, terminalWidth(out), group, n)
		key, change := d.key(ctx, out, keys, group, keep)
		switch {
		case change != "":
			fmt.Fprintln(out, "\n"+change)
		case quits(key):
			fmt.Fprintln(out)
			return nil
		case key == keyVary:
			if result, done := d.vary(ctx, out, keys, group); done {
				fmt.Fprintln(out, result)
			}
		default:
			reason, confirmed := "", true
			if key == keyReason || key == keyNever {
				reason, confirmed = readReason(ctx, out, keys)
			}
			if confirmed { // otherwise the question is shown again
				fmt.Fprintln(out, d.answer(ctx, group, key, reason))
			}
		}
	}
}

// quits reports whether key ends --watch. On a raw terminal, ^C and ^\ send no signals. The key is 0 after the
// terminal was closed.
func quits(key byte) bool {
	return key == keyQuit || key == ctrlC || key == ctrlD || key == ctrlBackslash || key == 0
}

// idle waits for a change. It returns true if the user quits.
func (d *questionList) idle(ctx context.Context, keys <-chan byte) bool {
	select {
	case <-d.changed:
		return false
	case key := <-keys: // 0 after the terminal was closed
		return quits(key)
	case <-ctx.Done():
		return true
	}
}

// showQuestion shows a group of equal requests completely: exactly what is shown runs. Each line begins with a text of
// ours, also the rows of a line that is wider than the terminal.
func showQuestion(out io.Writer, width int, group []control.Question, n int) {
	q := control.Merged(group)
	fmt.Fprintln(out)
	writeRows(out, width, "", heading(group, q, n))
	for _, f := range questionFacts(group) {
		writeRows(out, width, fmt.Sprintf("  %-7s  ", f.name), f.text)
	}
	for i, arg := range q.Args {
		writeRows(out, width, fmt.Sprintf("  argv[%d]  ", i), visibleSpaces(arg))
	}
	if q.Diff != "" {
		fmt.Fprintln(out, "\nChanged since you approved it:")
		writeRows(out, width, "  | ", q.Diff)
		fmt.Fprintln(out)
	}
	if p := q.Preview; p != nil {
		fmt.Fprintln(out)
		writeRows(out, width, "", p.Title())
		writeRows(out, width, "  | ", p.Output)
		fmt.Fprintln(out)
	}
}

// heading returns the first line about a group, of which q is the merged question.
func heading(group []control.Question, q control.Question, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Request %s", q.ID)
	if n > 1 {
		fmt.Fprintf(&b, " (1 of %d)", n)
	}
	if len(group) == 1 {
		fmt.Fprintf(&b, " of container %s", q.Container)
	} else {
		fmt.Fprintf(&b, " and %d of the same command elsewhere", len(group)-1)
	}
	left := time.Until(q.Deadline)
	fmt.Fprintf(&b, ", asked %s ago, ", strings.ToLower(units.HumanDuration(time.Since(q.Asked))))
	if q.Disconnected == len(q.Waiting) {
		fmt.Fprintf(&b, "caller gone, kept %d s", int(left.Seconds()))
	} else {
		fmt.Fprintf(&b, "%s left", strings.ToLower(units.HumanDuration(left)))
	}
	if n := len(q.Waiting); n > 1 {
		fmt.Fprintf(&b, ", asked %d times", n)
	}
	return b.String()
}

// visibleSpaces returns an argument in the form of names.Printable, quoted if spaces in it could be overlooked.
func visibleSpaces(arg string) string {
	pair := strings.Contains(arg, "  ")
	if arg == "" || strings.TrimSpace(arg) != arg || pair && arg[0] != '"' { // otherwise it is quoted already
		arg = strconv.Quote(arg)
	}
	if pair {
		arg = strings.ReplaceAll(arg, "  ", `\x20\x20`)
	}
	return arg
}

// continued begins a row of the terminal that continues a line. No line of ours begins like it.
const continued = "  > "

// writeRows prints the lines of text, each with prefix, in rows of width columns. Each further row of a line begins with
// continued, so that a text of the container never looks like a line of ours. text is printable ASCII with tabs.
func writeRows(out io.Writer, width int, prefix, text string) {
	for line := range strings.Lines(text) {
		line = prefix + strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")
		for ; len(line) > width; line = continued + line[width:] {
			fmt.Fprintln(out, line[:width])
		}
		fmt.Fprintln(out, line)
	}
}

// terminalWidth returns the number of columns of a terminal.
func terminalWidth(out *streams.Out) int {
	_, columns := out.GetTtySize()
	return max(int(cmp.Or(columns, 80)), 20)
}

// fact is one line about a request.
type fact struct{ name, text string }

// questionFacts returns the facts about a group of equal requests, the most dangerous first.
func questionFacts(group []control.Question) (facts []fact) {
	q := group[0]
	if g := q.Grade; g.MayRunCode() {
		name := map[policy.Grade]string{policy.GradeCertain: "WARNING", policy.GradePossible: "caution", policy.GradeUnknown: "note"}[g]
		facts = append(facts, fact{name, g.Label() + ": " + g.SentenceForOne()})
	}
	for _, note := range q.Notes {
		facts = append(facts, fact{"note", note})
	}
	facts = append(facts, fact{"runs", q.Path})
	for _, q := range group {
		own := []fact{{"in", fmt.Sprintf("%s (%s in the container)", q.Dir, q.Cwd)}, {"before", q.Earlier.String()}, {"project", q.Project}, {"branch", q.Branch}, {"agent", q.Agent}}
		if len(group) > 1 {
			own = []fact{{"for", memberLine(q, own)}}
		}
		facts = append(facts, own...)
	}
	facts = append(facts, fact{"rule", q.Rule}, fact{"effects", strings.Join(q.Effects, ", ")}, fact{"files", q.Inputs.String()}, fact{"no u", q.NoInputs})
	return slices.DeleteFunc(facts, func(f fact) bool { return f.text == "" })
}

// memberLine describes one request of a group in a line.
func memberLine(q control.Question, own []fact) string {
	line := q.Container
	for _, f := range own {
		if f.text != "" {
			line += ", " + f.name + " " + f.text
		}
	}
	return line + ", request " + q.ID
}

// key waits for a key that answers group as shown. It returns a text instead if group has changed.
func (d *questionList) key(ctx context.Context, out io.Writer, keys <-chan byte, group []control.Question, keep func(control.Question) bool) (key byte, change string) {
	q := group[0]
	shown := time.NewTimer(minShown)
	defer shown.Stop()
	ready := false
	for {
		select {
		case <-shown.C:
			ready = true
			fmt.Fprint(out, "y runs it once, a for this session, "+optionalKeys(q)+"n or Enter refuses it, r with a reason, N for this session, q leaves: ")
		case <-d.changed:
			if change := d.changeOf(group, keep); change != "" {
				return 0, change
			}
		case key := <-keys:
			known := []byte{keyYes, keyAlways, keyFiles, keyVary, keyNo, keyReason, keyNever, enter, newline}
			if key == keyFiles && q.Inputs == nil {
				continue
			}
			if quits(key) || ready && slices.Contains(known, key) {
				return key, ""
			}
		case <-ctx.Done():
			return keyQuit, ""
		}
	}
}

// optionalKeys returns the part of the prompt for the keys u and v, if q offers them.
func optionalKeys(q control.Question) (text string) {
	if q.Inputs != nil {
		text = "u while its files are unchanged, "
	}
	if len(describeOffers(q)) > 0 {
		text += "v with other arguments, "
	}
	return text
}

// answer settles each of group, and returns the result as a text.
func (d *questionList) answer(ctx context.Context, group []control.Question, key byte, reason string) string {
	switch key {
	case keyYes:
		return d.approve(ctx, group, "Runs.", approval.Terms{})
	case keyAlways:
		return d.approve(ctx, group, "Runs, each time in this session.", approval.Terms{Always: true})
	case keyFiles:
		return d.approve(ctx, group, "Runs, each time while its files are unchanged, in this session.", approval.Terms{Unchanged: true})
	case keyNever:
		return d.deny(ctx, group, "Refused, each time in this session.", reason, true)
	}
	return d.deny(ctx, group, "Refused.", reason, false)
}

func (d *questionList) approve(ctx context.Context, group []control.Question, done string, t approval.Terms) string {
	return d.each(ctx, group, done, func(c *control.Client, q control.Question) error { return c.Approve(ctx, q, t) })
}

func (d *questionList) deny(ctx context.Context, group []control.Question, done, reason string, always bool) string {
	return d.each(ctx, group, done, func(c *control.Client, q control.Question) error { return c.Deny(ctx, q, reason, always) })
}

// each settles each of group, and returns done, or which of them failed.
func (d *questionList) each(ctx context.Context, group []control.Question, done string, settle func(*control.Client, control.Question) error) string {
	text := ""
	settled := 0
	for _, q := range group {
		if err := answerOne(ctx, d.store, q, settle); err != nil {
			text += "\nNot settled: " + err.Error()
			continue
		}
		d.drop(q)
		settled++
	}
	switch {
	case settled == 0:
		return strings.TrimPrefix(text, "\n")
	case len(group) > 1:
		done = fmt.Sprintf("%d of %d: %s", settled, len(group), done)
	}
	return done + text
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
