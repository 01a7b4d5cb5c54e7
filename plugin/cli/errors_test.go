// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	dockercli "github.com/docker/cli/cli"
)

func TestReport(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct {
		name string
		err  error
		code int
		text string
	}{
		{"success", nil, 0, ""},
		{"ours in run", FailRun(boom), 125, "hostexec: boom\n"},
		{"ours in another verb", &Failure{Code: CodeVerb, Err: boom}, 1, "hostexec: boom\n"},
		{"with what to type next", FailRun(Hint(boom, "docker info")), 125, "hostexec: boom\nhostexec: hint: docker info\n"},
		{"two at once", FailRun(errors.Join(boom, boom)), 125, "hostexec: boom\nhostexec: boom\n"},
		{"the container's code: no blank line", dockercli.StatusError{StatusCode: 3}, 3, ""},
		{"docker's text as it is", dockercli.StatusError{Status: "docker: bad\n\nRun", StatusCode: 125}, 125, "docker: bad\n\nRun\n"},
		{"docker's cause", dockercli.StatusError{Cause: boom, StatusCode: 127}, 127, "boom\n"},
		{"a status that forgot its code is no success", dockercli.StatusError{Status: "bad"}, 1, "bad\n"},
		{"docker's plain error", fmt.Errorf("the input device is not a TTY"), 1, "the input device is not a TTY\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if code := Report(&out, tt.err); code != tt.code || out.String() != tt.text {
				t.Errorf("report = %d, %q, want %d, %q", code, out.String(), tt.code, tt.text)
			}
		})
	}
}

func TestFailRunOfNothing(t *testing.T) {
	if err := FailRun(nil); err != nil {
		t.Errorf("FailRun(nil) = %v, want nil", err)
	}
}
