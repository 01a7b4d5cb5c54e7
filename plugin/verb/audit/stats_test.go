// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
)

func statsOf(t *testing.T, path string, opts statsOptions) (out, errs string) {
	t.Helper()
	if opts.format == "" {
		opts.format = "table"
	}
	var o, e strings.Builder
	if err := showStats(t.Context(), &o, &e, path, opts); err != nil {
		t.Fatal(err)
	}
	return o.String(), e.String()
}

// TestStats checks that stats counts each request once, by its result, in all files of a log. Damaged lines are
// reported and not counted.
func TestStats(t *testing.T) {
	path, l := recordedLog(t)
	n := 0
	write := func(kind audit.Kind, by, name string) {
		r := audit.Record{Kind: kind, By: by, Request: fmt.Sprint(n), Args: []string{name, "a b"}}
		if kind == audit.Refusals {
			r.Count, r.Since = 7, time.Now()
		}
		if err := l.Write(r); err != nil {
			t.Fatal(err)
		}
		if kind != audit.Request {
			n++
		}
	}
	for _, kind := range []audit.Kind{audit.Approve, audit.Approve, audit.Deny, audit.Timeout, audit.Cancel} {
		write(audit.Request, "", "git")
		write(kind, "ann", "git")
	}
	write(audit.Approve, "grant 0123456789abcdef", "git")
	write(audit.Deny, "denial 0123456789abcdef", "git")
	write(audit.Request, "", "my tool") // nobody could be asked
	write(audit.Deny, "", "my tool")
	write(audit.Refusals, "", "my tool")
	write(audit.Request, "", "npm") // it still waits
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("damaged\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	day := time.Now().Format(time.DateOnly)
	out, errs := statsOf(t, path, statsOptions{since: "7d"})
	want := `DAY COMMAND QUESTIONS APPROVED DENIED UNANSWERED ALLOWED REFUSED
DAY git 5 2 1 2 1 1
DAY npm 1 0 0 0 0 0
DAY "\"my tool\"" 0 0 0 0 0 8
DAY make 0 0 0 0 1 0
DAY rm 0 0 1 0 0 0
TOTAL 6 2 2 2 2 9`
	var got []string
	for line := range strings.Lines(strings.ReplaceAll(out, day, "DAY")) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if strings.Join(got, "\n") != want {
		t.Errorf("stats:\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if !strings.Contains(errs, "not as it was written: 1 line") {
		t.Errorf("for the damaged line: %q", errs)
	}
	if out, _ := statsOf(t, path, statsOptions{filters: []string{"command=git"}, format: "{{.Command}} {{.Questions}}"}); out != "git 5\n" {
		t.Errorf("filtered: %q", out)
	}
	if out, _ := statsOf(t, path, statsOptions{since: time.Now().Add(time.Hour).Format(time.RFC3339)}); strings.Count(out, "\n") != 1 {
		t.Errorf("without a record in that time: %q", out)
	}
	out, _ = statsOf(t, path, statsOptions{format: "json"})
	first, _, _ := strings.Cut(out, "\n")
	var row map[string]any
	if err := json.Unmarshal([]byte(first), &row); err != nil || row["Command"] != "git" || row["Questions"] != 5.0 {
		t.Errorf("json: %s: %v", first, err)
	}
}

// TestStatsAreLimited checks that a container cannot fill the memory, or write to the terminal, by the names of the
// commands that it requests.
func TestStatsAreLimited(t *testing.T) {
	s := newStats()
	for i := range 2 * maxStatRows {
		s.add(audit.Entry{Time: time.Unix(0, 0), Record: audit.Record{Kind: audit.Deny}, Command: fmt.Sprintf("x%d", i)})
	}
	rows := s.sorted()
	if len(rows) != maxStatRows+1 || rows[0].Command != otherCommands || rows[0].Refused != maxStatRows {
		t.Errorf("%d rows, the first %+v", len(rows), rows[0])
	}
	for command, want := range map[string]string{
		"make test": "make", "'\x1b[2J' x": `"\x1b[2J"`, "'(others)'": `"\"(others)\""`, "''": `"\"\""`,
		strings.Repeat("x", 100): strings.Repeat("x", maxStatName-3) + "...",
	} {
		if got := commandName(audit.Entry{Command: command}); got != want {
			t.Errorf("commandName(%q) = %s, want %s", command, got, want)
		}
	}
}
