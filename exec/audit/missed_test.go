// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestMissed checks that a missed COMPLETE is written before the next record, at the end, or when
// the disk has space again. A missed START is not written, because no command ran.
func TestMissed(t *testing.T) {
	for _, when := range []string{"before the next", "at the end", "with nothing else to write"} {
		t.Run(when, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { missedRecords(t, when) }) })
	}
}

func missedRecords(t *testing.T, when string) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := open(t, path, Options{})
	write(t, l, Start, "first")
	if err := errors.Join(os.Rename(path, path+".full"), os.Mkdir(path, 0o700)); err != nil { // append fails
		t.Fatal(err)
	}
	for _, kind := range []Kind{Complete, Start, Complete} {
		if err := l.Write(Record{Kind: kind, Request: "r", Args: []string{"missed"}}); err == nil {
			t.Fatalf("%v is written", kind)
		}
	}
	<-time.After(5 * retryInterval / 2) // an attempt fails meanwhile
	if err := errors.Join(os.Remove(path), os.Rename(path+".full", path)); err != nil {
		t.Fatal(err)
	}
	want := "START COMPLETE COMPLETE"
	switch when {
	case "before the next":
		write(t, l, Start, "next")
		want += " START"
	case "with nothing else to write":
		<-time.After(2 * retryInterval)
		if got := kinds(t, path); got != want {
			t.Errorf("before the end: %q, want %q", got, want)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := kinds(t, path); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// kinds returns the kinds of the records in the log at path.
func kinds(t *testing.T, path string) string {
	t.Helper()
	var got []string
	for _, line := range lines(t, path) {
		if line != "" {
			got = append(got, strings.Fields(line)[2])
		}
	}
	return strings.Join(got, " ")
}

// TestMissedCopy checks that a record in the log is not written again if only its copy fails. A command whose START has
// no copy does not run, so the log has its end too.
func TestMissedCopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := open(t, path, Options{PerContainer: true})
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "audit"), nil, 0o600); err != nil { // blocks the copies
		t.Fatal(err)
	}
	for _, kind := range []Kind{Complete, Start} {
		if err := l.Write(Record{Kind: kind, Request: "r", Args: []string{"copied"}}); err == nil {
			t.Fatalf("%v has a copy", kind)
		}
	}
	if got, want := kinds(t, path), "COMPLETE START COMPLETE"; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if report, err := Verify(r); err != nil || len(report.Unfinished) > 0 || len(report.Faults) > 0 {
		t.Errorf("Verify: %+v, %v", report, err)
	}
	if end := lines(t, path)[2]; !strings.Contains(end, " request=r exit=125 ") {
		t.Errorf("the command that did not run ends with %s", end)
	}
}
