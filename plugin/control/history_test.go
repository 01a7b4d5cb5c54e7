// SPDX-License-Identifier: Apache-2.0

package control

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
)

// TestHistory checks that ended requests in the audit log are shown, the newest first, for any arguments.
func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if list, err := History(path, ""); err != nil || list == nil || len(list) != 0 {
		t.Errorf("history of nothing = %v, %v, want an empty list", list, err)
	}
	log, err := audit.Open(path, audit.SessionInfo{Project: "my app", Session: "5f0c1a2b3c4d", Container: "web"}, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, r := range []audit.Record{
		{Kind: audit.Start, Request: "01", Args: []string{"make"}},
		{Kind: audit.Complete, Request: "01", Args: []string{"make", "a\nb=c", `"`}, Exit: 3, Duration: 1500 * time.Millisecond},
		{Kind: audit.Deny, Request: "02", Args: []string{"git"}, Reason: "not \x1b today", By: "you"},
		{Kind: audit.Timeout, Request: "03", Args: []string{"git"}},
		{Kind: audit.Complete, Request: "04", Args: []string{"git"}, Exit: 143, Signal: "TERM"},
	} {
		if err := log.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	list, err := History(path, "")
	if err != nil || len(list) != 4 {
		t.Fatalf("history = %+v, %v, want four", list, err)
	}
	if e := list[3]; e.Kind != "ran" || e.Exit != 3 || e.Seconds != 1.5 || e.Project != "my app" || e.Container != "web" || strings.Contains(e.Cmd, "\n") || !strings.Contains(e.Cmd, `a\nb=c`) {
		t.Errorf("the run is %+v", e)
	}
	if e := list[2]; e.Kind != "denied" || e.Reason != `"not \x1b today"` || e.User != "you" {
		t.Errorf("the denial is %+v", e)
	}
	if none, err := History(path, "000000000000"); err != nil || len(none) != 0 {
		t.Errorf("another session's history = %+v, %v", none, err)
	}
	if e := list[0]; e.Signal != "TERM" || e.Time.IsZero() {
		t.Errorf("the killed one is %+v", e)
	}
}

// TestHistoryOfAnything reads a log that is long, cut, or not a log.
func TestHistoryOfAnything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log, err := audit.Open(path, audit.SessionInfo{Session: "5f0c1a2b3c4d"}, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.Write(audit.Record{Kind: audit.Complete, Request: "last", Args: []string{"make"}}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := string(b)
	other := strings.Replace(end, "request=last", "request=00", 1) // has a wrong hash
	text := strings.Repeat(other, historyBytes/len(other)*2) + "\n \x00\xff=\nx HOSTEXEC COMPLETE a\n" + end + strings.TrimSuffix(other, "\n")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := History(path, "")
	if err != nil || len(list) != maxEvents || list[0].Request != "last" || list[1].Request != "00" {
		t.Errorf("history = %d events, %+v first, %v", len(list), list[:min(2, len(list))], err)
	}
}

// TestHistoryRotated checks that events in a rotated log are shown.
func TestHistoryRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log, err := audit.Open(path, audit.SessionInfo{Session: "5f0c1a2b3c4d"}, audit.Options{Rotate: 300})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, id := range []string{"01", "02", "03"} {
		if err := log.Write(audit.Record{Kind: audit.Complete, Request: id, Args: []string{"make"}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path + ".1"); err != nil {
		t.Fatal(err)
	}
	if list, err := History(path, ""); err != nil || len(list) != 3 || list[0].Request != "03" || list[2].Request != "01" {
		t.Errorf("history = %+v, %v, want three", list, err)
	}
}
