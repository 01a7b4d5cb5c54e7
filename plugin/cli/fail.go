// SPDX-License-Identifier: Apache-2.0

package cli

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
	CodeRun  = 125 // of run, attach, agent and proxy
	CodeVerb = 1   // of the other verbs
)

// Failure is an error of ours, to be shown as such, and the code to exit with.
type Failure struct {
	Code int
	Err  error
	Show func(w io.Writer, err error) // in place of text, if not nil
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// FailRun makes err an error of ours that ends run.
func FailRun(err error) error {
	if err == nil {
		return nil
	}
	return &Failure{Code: CodeRun, Err: err}
}

// hinted is an error with what to type next.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// Hint returns what to type next.
func (h *hinted) Hint() string { return h.hint }

// Hint returns err with next, the command to type next.
func Hint(err error, next string) error { return &hinted{error: err, hint: next} }

// HintOf returns the command to type after err, or "".
func HintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// Report shows err on w and returns the exit code. It is the only place that turns
// errors into codes:
//
//	ours                    its own code; each line behind hostexec:
//	docker's StatusError    its code; its text as it is, and no blank line if there is none
//	other errors of docker  1
func Report(w io.Writer, err error) int {
	var ours *Failure
	var status dockercli.StatusError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ours) && ours.Show != nil:
		ours.Show(w, ours.Err)
		return ours.Code
	case errors.As(err, &ours):
		Say(w, "%s", ours.Err)
		if h := HintOf(err); h != "" {
			Say(w, "hint: %s", h)
		}
		return ours.Code
	case errors.As(err, &status):
		if text := status.Error(); text != "" {
			fmt.Fprintln(w, text)
		}
		return max(status.StatusCode, 1)
	}
	fmt.Fprintln(w, err)
	return 1
}

// Say writes one line of ours.
func Say(w io.Writer, format string, args ...any) {
	text := strings.TrimSuffix(fmt.Sprintf(format, args...), "\n")
	fmt.Fprintf(w, "hostexec: %s\n", strings.ReplaceAll(text, "\n", "\nhostexec: "))
}
