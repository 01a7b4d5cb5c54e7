// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// TestShowQuestion checks that all facts about a request are shown, the most dangerous first.
func TestShowQuestion(t *testing.T) {
	now := time.Now()
	q := control.Question{
		ID: "00ff", Args: []string{"make", "", " x", `"a\nb"`}, Cwd: "/w", Dir: "/home/you/app", Path: "/usr/bin/make", Rule: "make/all", Container: "web",
		Project: "app", Branch: "main", Effects: []string{"write", "code"}, Grade: policy.GradeCertain, Notes: []string{"called as make", "stdin is 0 bytes"},
		Asked: now, Deadline: now.Add(5*time.Minute + time.Second), Waiting: []string{"00ff", "01"},
	}
	var out strings.Builder
	showQuestion(&out, 200, []control.Question{q}, 3)
	const want = `
Request 00ff (1 of 3) of container web, asked less than a second ago, 5 minutes left, asked 2 times
  WARNING  HOST CODE EXECUTION: it runs code from files that the container can write
  note     called as make
  note     stdin is 0 bytes
  runs     /usr/bin/make
  in       /home/you/app (/w in the container)
  project  app
  branch   main
  rule     make/all
  effects  write, code
  argv[0]  make
  argv[1]  ""
  argv[2]  " x"
  argv[3]  "a\nb"
`
	if out.String() != want {
		t.Errorf("shown is %s\nwant %s", out.String(), want)
	}
	q.Grade, q.Disconnected, q.Effects, q.Notes, q.Branch = policy.GradeNone, 2, nil, nil, ""
	out.Reset()
	showQuestion(&out, 200, []control.Question{q}, 1)
	if text := out.String(); !strings.Contains(text, "caller gone, kept 300 s") || strings.Contains(text, "WARNING") || strings.Contains(text, "branch") || strings.Contains(text, "effects") {
		t.Errorf("shown is %s", text)
	}
}

func TestPendingEffects(t *testing.T) {
	for _, tt := range []struct {
		q    control.Question
		want string
	}{
		{control.Question{}, ""}, {control.Question{Effects: []string{"write", "network"}}, "write, network"},
		{control.Question{Grade: policy.GradeCertain, Effects: []string{"code"}}, "HOST CODE EXECUTION, code"},
		{control.Question{Grade: policy.GradePossible}, "possible host code execution"}, {control.Question{Grade: policy.GradeUnknown}, "host code execution not known"},
	} {
		if got := newPendingRow(nil, tt.q, false, time.Now()).Effects; got != tt.want {
			t.Errorf("effects of %+v = %q, want %q", tt.q, got, tt.want)
		}
	}
}
