// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/cli/clitest"
)

// TestReportNotRun checks that exec --json and start --json print their report also if the text does not start. Programs
// got nothing to parse then.
func TestReportNotRun(t *testing.T) {
	t.Setenv("HOSTEXEC_HOME", t.TempDir()) // there are no sessions
	for _, verb := range []string{"exec", "start"} {
		for args, want := range map[string]string{
			"--json nosuch s -- echo a":              "no such session",
			"--json --timeout soon nosuch s -- :":    "want a time",
			"--json --timeout -1s nosuch s -- :":     "must not be negative",
			"--json --bogus nosuch s -- :":           "unknown flag: --bogus",
			"--json nosuch":                          "requires at least 3 arguments",
			"nosuch s -- echo --json":                "",
			"--json --json=false nosuch s -- echo a": "",
		} {
			var out bytes.Buffer
			err := runVerb(t, &out, append([]string{verb}, strings.Fields(args)...))
			if code := cli.Report(io.Discard, err); code != cli.CodeRun {
				t.Errorf("%s %s: %d, %v", verb, args, code, err)
			}
			var got struct {
				Type, Error string
				Code        int `json:"exit_code"`
			}
			if want == "" {
				if out.Len() > 0 {
					t.Errorf("%s %s prints %q", verb, args, out.String())
				}
				continue
			}
			err = json.Unmarshal(out.Bytes(), &got)
			if err != nil || got.Code != cli.CodeRun || !strings.Contains(got.Error, want) || (got.Type == "complete") != (verb == "start") {
				t.Errorf("%s %s: %q, %v, want %q", verb, args, out.String(), err, want)
			}
		}
	}
}

// runVerb runs the verb shell with args.
func runVerb(t *testing.T, out io.Writer, args []string) error {
	cmd := NewCommand(clitest.New(t, out))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	top := &cobra.Command{Use: "docker", SilenceErrors: true, SilenceUsage: true}
	top.AddCommand(cmd)
	top.SetArgs(append([]string{"shell"}, args...))
	return top.ExecuteContext(t.Context())
}

func TestTimeLimit(t *testing.T) {
	for text, want := range map[string]time.Duration{"5": 5 * time.Second, "1.5": 1500 * time.Millisecond, "2m": 2 * time.Minute, "0": 0, "-1s": -time.Second} {
		var l timeLimit
		if err := l.Set(text); err != nil || time.Duration(l) != want {
			t.Errorf("Set(%q) = %v, %v, want %v", text, time.Duration(l), err, want)
		}
	}
	for _, text := range []string{"", "soon", "5x", "0.0000000001", "0.1ns"} { // the last two would be rounded to no limit
		if err := new(timeLimit).Set(text); err == nil {
			t.Errorf("Set(%q) succeeds", text)
		}
	}
}
