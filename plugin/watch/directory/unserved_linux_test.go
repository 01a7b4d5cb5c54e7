// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestUnservedReported replaces the directory of requests by a link, and the link by a file. A person is told of the
// first one, and when the directory is served again. Renew only wrote to the log of the session.
func TestUnservedReported(t *testing.T) {
	d, ws, requests := proxying(t)
	var said []string
	if notes := d.allNotes(func(text string) { said = append(said, text) }); len(notes) > 0 {
		t.Fatalf("notes: %q", notes)
	}
	at := ws + "/base/requests"
	for _, replace := range []func() error{
		func() error { return errors.Join(os.RemoveAll(at), os.Symlink(ws+"/victim", at)) },
		func() error { return nil }, // a second attempt
		func() error { return errors.Join(os.Remove(at), os.WriteFile(at, nil, 0o600)) },
	} {
		if err := replace(); err != nil {
			t.Fatal(err)
		}
		if again, err := requests.Renew(); err == nil {
			t.Fatalf("renewed as %s", again.Dir.Path())
		}
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	again, err := requests.Renew()
	if err != nil {
		t.Fatal(err)
	}
	defer again.Dir.Close()
	if err := again.Repair(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`the requests in "` + at + `" are not served: it is a symbolic link` + "\nhint: remove it, or put the directory back: the proxy then serves it again",
		`the requests in "` + at + `" are served again`,
	}
	if !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
}

// TestUnservedPutBack puts a link in place of the directory of requests, and then the directory back. A person is told of
// both, without a renewal.
func TestUnservedPutBack(t *testing.T) {
	d, ws, requests := proxying(t)
	var said []string
	d.allNotes(func(text string) { said = append(said, text) })
	at := ws + "/base/requests"
	if err := errors.Join(os.Rename(at, at+".old"), os.Symlink(at+".old", at)); err != nil {
		t.Fatal(err)
	}
	if again, err := requests.Renew(); err == nil {
		t.Fatalf("renewed as %s", again.Dir.Path())
	}
	if err := requests.Repair(); err != nil || len(said) != 1 {
		t.Fatalf("before it is put back: %v, said %q", err, said)
	}
	if err := errors.Join(os.Remove(at), os.Rename(at+".old", at), requests.Repair()); err != nil {
		t.Fatal(err)
	}
	if len(said) != 2 || !strings.HasSuffix(said[1], "are served again") {
		t.Errorf("said %q", said)
	}
}

// TestUnserved notes the failures of two commands whose directories are below one that was replaced. There is one message
// about the failure, and one when both are served again. Failures that follow each other soon are reported less and less.
func TestUnserved(t *testing.T) {
	broken := errors.New("it is not a directory")
	const top, other = "/w/.hostexec", "/w/other"
	failure, success := `the requests in "`+top+`" are not served: it is not a directory`, `the requests in "`+top+`" are served again`
	u := unserved{paths: map[string]string{}}
	for i, tt := range []struct {
		second  int
		command string
		path    string // "": it is served
		want    string
	}{
		{0, "make", "", ""},
		{0, "make", top, failure},
		{0, "git", top, ""},
		{1, "make", other, ""},
		{2, "make", "", ""},
		{2, "git", "", success},
		{2, "git", "", ""},
		{3, "git", top, failure}, // the next pause is 2 s
		{3, "git", "", success},
		{4, "git", top, ""},
		{4, "git", "", ""},
		{4, "git", top, ""},
		{5, "git", top, failure}, // the next pause is 4 s
		{8, "git", "", success},
		{8, "git", top, ""},
		{70, "git", top, failure}, // the next pause is 1 s
		{70, "git", "", success},
		{71, "git", top, failure},
	} {
		var err error
		if tt.path != "" {
			err = broken
		}
		if got := u.note(tt.command, tt.path, err, time.Unix(int64(tt.second), 0)); got != tt.want {
			t.Errorf("%d: note = %q, want %q", i, got, tt.want)
		}
	}
}
