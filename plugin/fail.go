// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"io"
	"strings"

	dockercli "github.com/docker/cli/cli"
)

// Exit codes of our own failures. A failed run has to be told from the container's own
// codes, so it takes docker run's; other verbs do as docker's do.
const (
	codeRun  = 125
	codeVerb = 1
)

// failure is an error of ours, to be shown as such, and the code to exit with.
type failure struct {
	code int
	err  error
	show func(w io.Writer, err error) // in place of text, if not nil
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// failRun makes err an error of ours that ends run.
func failRun(err error) error {
	if err == nil {
		return nil
	}
	return &failure{code: codeRun, err: err}
}

// hinted is an error with what to type next.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// Hint returns what to type next.
func (h *hinted) Hint() string { return h.hint }

// hint returns err with next, the command to type next.
func hint(err error, next string) error { return &hinted{error: err, hint: next} }

// hintOf returns the command to type after err, or "".
func hintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// report shows err on w and returns the exit code. It is the only place that turns
// errors into codes:
//
//	ours                    its own code; each line behind hostexec:
//	docker's StatusError    its code; its text as it is, and no blank line if there is none
//	other errors of docker  1
func report(w io.Writer, err error) int {
	var ours *failure
	var status dockercli.StatusError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ours) && ours.show != nil:
		ours.show(w, ours.err)
		return ours.code
	case errors.As(err, &ours):
		say(w, "%s", ours.err)
		if h := hintOf(err); h != "" {
			say(w, "hint: %s", h)
		}
		return ours.code
	case errors.As(err, &status):
		if text := status.Error(); text != "" {
			fmt.Fprintln(w, text)
		}
		return max(status.StatusCode, 1)
	}
	fmt.Fprintln(w, err)
	return 1
}

// say writes one line of ours.
func say(w io.Writer, format string, args ...any) {
	text := strings.TrimSuffix(fmt.Sprintf(format, args...), "\n")
	fmt.Fprintf(w, "hostexec: %s\n", strings.ReplaceAll(text, "\n", "\nhostexec: "))
}
