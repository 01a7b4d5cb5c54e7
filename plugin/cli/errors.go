// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	dockercli "github.com/docker/cli/cli"
)

// Exit codes of hostexec's own failures. run and similar verbs use docker run's code for its own failures, to
// distinguish them from the container's codes. Other verbs use the code of docker's verbs.
const (
	CodeRun  = 125 // of verbs that run commands or serve calls, such as run, attach, with, agent and proxy
	CodeVerb = 1   // of the other verbs
)

// Failure is an error of hostexec with its exit code.
type Failure struct {
	Code int
	Err  error
	Show func(w io.Writer, err error) // prints err in place of the text, if not nil
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// FailRun returns err as a failure of run. An Interrupted becomes the signal's exit status.
func FailRun(err error) error { return failure(CodeRun, err) }

func failure(code int, err error) error {
	var interrupted *Interrupted
	switch {
	case err == nil:
		return nil
	case errors.As(err, &interrupted):
		return interrupted.Status()
	}
	return &Failure{Code: code, Err: err}
}

// hintError is an error with a command to type, or advice.
type hintError struct {
	error
	hint string
}

func (h *hintError) Unwrap() error { return h.error }

// Hint returns the next step for the user.
func (h *hintError) Hint() string { return h.hint }

// Hint returns err with the next step for the user: a command to type, or advice in words.
func Hint(err error, next string) error { return &hintError{error: err, hint: next} }

// HintOf returns the hint of err, or "".
func HintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// Report prints err to w and returns the exit code. Only Report turns errors into exit codes:
//
//	Failure                 its own code; each line after "hostexec:"
//	docker's StatusError    its code; its text unchanged, and no blank line for an empty text
//	other errors of docker  1
func Report(w io.Writer, err error) int {
	var failure *Failure
	var status dockercli.StatusError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failure) && failure.Show != nil:
		failure.Show(w, failure.Err)
		return failure.Code
	case errors.As(err, &failure):
		Say(w, "%s", failure.Err)
		if h := HintOf(err); h != "" {
			Say(w, "hint: %s", h)
		}
		return failure.Code
	case errors.As(err, &status):
		if text := status.Error(); text != "" {
			fmt.Fprintln(w, text)
		}
		return max(status.StatusCode, 1)
	}
	fmt.Fprintln(w, err)
	return 1
}

// Say writes a message, each line of it after "hostexec:".
func Say(w io.Writer, format string, args ...any) {
	text := strings.TrimSuffix(fmt.Sprintf(format, args...), "\n")
	fmt.Fprintf(w, "hostexec: %s\n", strings.ReplaceAll(text, "\n", "\nhostexec: "))
}
