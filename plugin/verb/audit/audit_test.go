// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

// recordedLog is a log with one call that ran and one refused call.
func recordedLog(t *testing.T) (path string, l *audit.Log) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "audit.log")
	l, err := audit.Open(path, audit.SessionInfo{Project: "app", Branch: "main", Session: "0123456789ab", Container: "web"}, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for _, r := range []audit.Record{
		{Kind: audit.AutoApprove, Request: "0123456789abcdef", Args: []string{"make", "a b"}, Rule: "--proxy make"},
		{Kind: audit.Start, Request: "0123456789abcdef", Args: []string{"make", "a b"}, Rule: "--proxy make", Path: "/usr/bin/make", Dir: "/w"},
		{Kind: audit.Deny, Request: "02", Args: []string{"rm", "\x1b[2J"}, Rule: "--proxy rm=ask", Reason: "no", By: "ann"},
		{Kind: audit.Complete, Request: "0123456789abcdef", Args: []string{"make", "a b"}, Exit: 143, Signal: "TERM", Duration: 2340 * time.Millisecond},
	} {
		if err := l.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	return path, l
}

func show(t *testing.T, path string, opts auditOptions) (out, errs string) {
	t.Helper()
	if opts.tail == "" {
		opts.tail = "all"
	}
	if opts.format == "" {
		opts.format = "table"
	}
	var o, e strings.Builder
	if err := showAudit(t.Context(), &o, &e, path, opts); err != nil {
		t.Fatal(err)
	}
	return o.String(), e.String()
}

func TestAuditTable(t *testing.T) {
	path, _ := recordedLog(t)
	out, errs := show(t, path, auditOptions{})
	var got []string
	for line := range strings.Lines(out) {
		got = append(got, strings.TrimSuffix(line[min(len(line), 21):], "\n"))
	}
	want := []string{
		"EVENT         REQUEST       CONTAINER         EXIT   DURATION  COMMAND",
		"AUTO_APPROVE  0123456789ab  web                  -          -  make 'a b'  (--proxy make)",
		"START         0123456789ab  web                  -          -  make 'a b'  (in /w)",
		`DENY          02            web                  -          -  "rm '\x1b[2J'"  (no, by ann)`,
		"COMPLETE      0123456789ab  web                143     2.340s  make 'a b'  (signal TERM)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || errs != "" {
		t.Errorf("shown is\n%s\nwant\n%s\nand %q", strings.Join(got, "\n"), strings.Join(want, "\n"), errs)
	}
}

func TestAuditFilter(t *testing.T) {
	path, _ := recordedLog(t)
	for _, tt := range []struct {
		filters []string
		want    string
	}{
		{nil, "AUTO_APPROVE START DENY COMPLETE "},
		{[]string{"event=deny"}, "DENY "},
		{[]string{"event=DENY", "event=START"}, "START DENY "},
		{[]string{"event=START", "request=02"}, ""},
		{[]string{"request=0"}, "AUTO_APPROVE START DENY COMPLETE "},
		{[]string{"request="}, ""},
		{[]string{"container=web", "command=rm", "user=ann"}, "DENY "},
		{[]string{"container=we"}, ""},
		{[]string{"session=0123"}, "AUTO_APPROVE START DENY COMPLETE "},
		{[]string{"project=app", "branch=main", "rule=--proxy make", "agent="}, "AUTO_APPROVE START "},
	} {
		out, _ := show(t, path, auditOptions{filters: tt.filters, format: "{{.Event}}"})
		if got := strings.ReplaceAll(out, "\n", " "); got != tt.want {
			t.Errorf("--filter %q shows %q, want %q", tt.filters, got, tt.want)
		}
	}
	for _, bad := range []string{"", "event", "nothing=x", "=x", "event=", "event=STARTED"} {
		if _, err := cli.ParseFilters([]string{bad}, auditCriteria); err == nil {
			t.Errorf("--filter %q was accepted", bad)
		}
	}
}

func TestAuditFormats(t *testing.T) {
	path, _ := recordedLog(t)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := show(t, path, auditOptions{raw: true}); out != string(b) {
		t.Errorf("--raw is\n%s\nwant\n%s", out, b)
	}
	out, _ := show(t, path, auditOptions{format: "json", tail: "1"})
	var e map[string]any
	if err := json.Unmarshal([]byte(out), &e); err != nil || strings.Count(out, "\n") != 1 {
		t.Fatalf("%q: %v", out, err)
	}
	if e["event"] != "COMPLETE" || e["exit"] != 143.0 || e["duration"] != 2.34 || e["command"] != "make 'a b'" || e["seq"] != 4.0 || e["container"] != "web" {
		t.Errorf("JSON is %s", out)
	}
	if out, _ := show(t, path, auditOptions{format: "{{.Command}}", tail: "0"}); out != "" {
		t.Errorf("--tail 0 shows %q", out)
	}
	for _, opts := range []auditOptions{{format: "{{", tail: "all"}, {format: "{{.Nope}}", tail: "all"}, {format: "table {{.Event}}", tail: "all"}, {format: "json", tail: "x"}, {format: "json", tail: "all", since: "yesterday"}} {
		if err := showAudit(t.Context(), io.Discard, io.Discard, path, opts); err == nil {
			t.Errorf("%+v was accepted", opts)
		}
	}
}

func TestAuditSince(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 5e8, time.UTC)
	for value, want := range map[string]time.Time{
		"":                     {},
		"15m":                  now.Add(-15 * time.Minute).Truncate(time.Second),
		"2026-01-31T11:00:00Z": time.Date(2026, 1, 31, 11, 0, 0, 0, time.UTC),
	} {
		if got, err := cli.SinceTime(value, now); err != nil || !got.Equal(want) {
			t.Errorf("sinceTime(%q) = %s, %v, want %s", value, got, err, want)
		}
	}
	path, _ := recordedLog(t)
	if out, _ := show(t, path, auditOptions{format: "{{.Event}}", since: "2000-01-01"}); strings.Count(out, "\n") != 4 {
		t.Errorf("since long ago: %q, want all", out)
	}
	if out, _ := show(t, path, auditOptions{format: "{{.Event}}", since: "2100-01-01"}); out != "" {
		t.Errorf("since the future: %q, want nothing", out)
	}
}

// TestAuditInvalidLines checks that lines that are not records are reported. Half a line, left by a writer on a full
// disk, is not an error.
func TestAuditInvalidLines(t *testing.T) {
	path, _ := recordedLog(t)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(b), "make 'a b'", "make 'x'", 1) + "\x1b[2Jjunk\n2026-01-31T11:00:00Z HOSTEXEC START proj [torn]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs := show(t, path, auditOptions{format: "{{.Command}}"})
	if strings.Count(out, "\n") != 4 || !strings.Contains(errs, "the log is not as it was written: 2 lines") {
		t.Errorf("shown is %q, %q", out, errs)
	}
	var report strings.Builder
	err = verifyAudit(&report, path, nil)
	if err == nil || !strings.Contains(err.Error(), "2 faults, the first in "+path+":1") || strings.Contains(report.String(), "\x1b") {
		t.Errorf("verify says %v and %q", err, report.String())
	}
}

func TestAuditVerify(t *testing.T) {
	path, _ := recordedLog(t)
	for _, files := range [][]string{nil, {path}} {
		var report strings.Builder
		if err := verifyAudit(&report, path, files); err != nil || report.String() != "ok: 4 records in 1 chain\n" {
			t.Errorf("verify says %v and %q", err, report.String())
		}
	}
	var report strings.Builder
	if err := verifyAudit(&report, path+".none", nil); err != nil || !strings.Contains(report.String(), "no audit log yet") {
		t.Errorf("without a log verify says %v and %q", err, report.String())
	}
	if err := verifyAudit(&report, path, []string{path + ".none"}); err == nil {
		t.Error("it verified a missing file")
	}
	if out, errs := show(t, path+".none", auditOptions{}); out+errs != "" {
		t.Errorf("without a log there is %q, %q", out, errs)
	}
}

// TestAuditFollows checks that --follow shows new lines, also of a log that does not exist at first.
func TestAuditFollows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	// ends with ctx, below.
	go func() {
		ended <- showAudit(ctx, w, io.Discard, path, auditOptions{follow: true, tail: "all", format: "{{.Command}}"})
	}()
	l, err := audit.Open(path, audit.SessionInfo{Session: "0123456789ab"}, audit.Options{Rotate: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, name := range []string{"one", "two", "three"} {
		if err := l.Write(audit.Record{Kind: audit.Start, Args: []string{name}}); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 64)
		if n, err := r.Read(buf); err != nil || string(buf[:n]) != name+"\n" {
			t.Errorf("read %q, %v, want %s", buf[:n], err, name)
		}
	}
	cancel()
	r.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
