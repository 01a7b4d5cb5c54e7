// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"

	"github.com/docker-hostexec/hostexec/plugin/control"
)

// varyChoice is an argument of a question, and a form in which it may vary, in the menu beside the approve button.
type varyChoice struct {
	Value  string // as in a decision; for words, the page adds them
	Text   string
	Before string // the rule before and after the values
	After  string
	Form   string // the values, as the rule shows them; empty for words
}

// maxVaryArguments is the number of arguments that the menu offers. approve --vary takes more.
const maxVaryArguments = 16

// varyChoices returns the choices of the menu for q.
func varyChoices(q control.Question) (all []varyChoice) {
	words := q.Words()
	for _, o := range q.Vary[:min(len(q.Vary), maxVaryArguments)] {
		c := varyChoice{Before: oneLine(control.CommandLine(words[:o.Argument])), After: oneLine(control.CommandLine(words[o.Argument+1:]))}
		for _, f := range o.Forms {
			c.Value = fmt.Sprintf("%d=%s", o.Argument, f)
			switch f {
			case "path":
				c.Text, c.Form = "any path below "+o.Below, "<path below "+o.Below+">"
			case "number":
				c.Text, c.Form = "any number", "<number>"
			case "words":
				c.Value, c.Text, c.Form = fmt.Sprintf("%d=", o.Argument), "one of these words", ""
			}
			c.Text = fmt.Sprintf("argument %d: %s", o.Argument, c.Text)
			all = append(all, c)
		}
	}
	return all
}
