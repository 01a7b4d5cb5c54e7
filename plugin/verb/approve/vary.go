// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/docker/cli/cli/streams"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// grantVarying grants q on the terms t, with an argument that varies. It returns the readable rule of the grant.
func grantVarying(ctx context.Context, c *control.Client, q control.Question, t approval.Terms) (string, error) {
	line, err := q.VaryCommandLine(t.Vary)
	if err == nil {
		err = c.Approve(ctx, q, t)
	}
	if err != nil {
		return "", fmt.Errorf("request %s: %w", q.ID, err)
	}
	return line + " " + describeTerms(t), nil
}

// describeTerms describes how long a grant with the terms t holds.
func describeTerms(t approval.Terms) string {
	switch {
	case t.For > 0:
		text := t.For.String()
		for _, zero := range []string{"0s", "0m"} { // 1h, not 1h0m0s
			if short := strings.TrimSuffix(text, zero); strings.HasSuffix(short, "m") || strings.HasSuffix(short, "h") {
				text = short
			}
		}
		return "for " + text
	case t.Times > 0:
		return fmt.Sprintf("%d times", t.Times)
	}
	return "for this session"
}

// describeOffers describes which arguments of q may vary, one in each line.
func describeOffers(q control.Question) (lines []string) {
	for _, o := range q.Vary {
		var forms []string
		for _, f := range o.Forms {
			switch f {
			case policy.FormPath:
				forms = append(forms, fmt.Sprintf("%d=path (below %s)", o.Argument, o.Below))
			case policy.FormNumber:
				forms = append(forms, fmt.Sprintf("%d=number", o.Argument))
			case policy.FormWords:
				forms = append(forms, fmt.Sprintf("%d=WORD,WORD", o.Argument))
			}
		}
		lines = append(lines, strings.Join(forms, ", "))
	}
	return lines
}

// varyTerms are the keys by which pending --watch confirms a grant whose argument varies.
var varyTerms = map[byte]approval.Terms{'h': {For: time.Hour}, keyAlways: {Always: true}}

// vary asks which argument of group may vary and for how long, and grants that. It returns the result as a text, and
// false if the user cancels.
func (d *questionList) vary(ctx context.Context, out *streams.Out, keys <-chan byte, group []control.Question) (string, bool) {
	q := group[0]
	offers := describeOffers(q)
	if len(offers) == 0 {
		fmt.Fprintln(out, "\nNo argument of this request can vary. approve --vary N shows why.")
		return "", false
	}
	fmt.Fprintf(out, "\nThese may vary: %s", strings.Join(offers, "; "))
	spec, ok := readLine(ctx, out, keys, "Argument (Enter approves nothing yet, Esc goes back): ")
	if !ok || spec == "" {
		return "", false
	}
	line, err := q.VaryCommandLine(spec)
	if err != nil {
		fmt.Fprintln(out, "Not granted: "+err.Error())
		return "", false
	}
	writeRows(out, terminalWidth(out), "", names.Plain(line))
	fmt.Fprint(out, "h allows that for 1h, a for this session, any other key goes back: ")
	select {
	case key := <-keys:
		terms, known := varyTerms[key]
		fmt.Fprintln(out)
		if !known {
			return "", false
		}
		terms.Vary = spec
		return d.approve(ctx, group, "Runs, and so does "+line+" "+describeTerms(terms)+".", terms), true
	case <-ctx.Done():
		return "", false
	}
}
